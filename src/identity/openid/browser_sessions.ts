import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { Seal } from "../../base/sealed_values.ts";
import { type KvRecords, updating } from "../../kv/kv_records.ts";
import { RenewalPauses } from "../vault/renewal_pauses.ts";
import { OAuthError } from "../oauth/protocol/oauth_error.ts";
import { randomText } from "../oauth/protocol/seal.ts";
import { EndedError, Vault } from "../vault/vault.ts";
import {
  type VaultId,
  type VaultKeys,
  VaultSeal,
} from "../vault/vault_seal.ts";
import {
  type BrowserSession,
  decodeSession,
  decodeTokens,
  type SessionTokens,
  sessionTokens,
  userClaims,
} from "./browser_session.ts";
import type { CookieNames, LoginCookies } from "./login_cookies.ts";
import { CLOCK_SKEW_MS, EndedMarks, unavailable } from "./ended_marks.ts";
import type { EndedSessions } from "./logout_token.ts";
import type { OpenIdClient, OpenIdTokens } from "./openid_client.ts";

/** Dependencies of sessions. */
export interface BrowserSessionsOptions {
  readonly client: OpenIdClient;
  readonly names: CookieNames;
  /** Separates sessions from those of other logins: nothing of one opens as that of another. */
  readonly binding: string;
  /** Returns the secrets that seal cookies: the first one seals, all open. */
  readonly secrets: () => Promise<VaultKeys>;
  /** Shared with other workers and replicas. */
  readonly records: KvRecords;
  readonly clock: Clock;
  /** Sessions end so long after the last request. */
  readonly idleMs: number;
  /** Sessions end so long after the login. */
  readonly absoluteMs: number;
}

/** A session of a request, and the `Set-Cookie` values that its response needs. */
export interface FoundSession {
  readonly session: BrowserSession;
  readonly setCookies: readonly string[];
}

/** A session is sealed again for a request so long after the last one. */
const TOUCH_MS = 60_000;

/** Sessions of users in browsers. They are in cookies; which have ended, and renewed tokens, are in records. */
export class BrowserSessions {
  readonly #options: BrowserSessionsOptions;
  readonly #pauses: RenewalPauses;
  readonly #ended: EndedMarks;
  #sealing: Promise<Sealing> | undefined;

  constructor(options: BrowserSessionsOptions) {
    this.#options = options;
    this.#pauses = new RenewalPauses(options.clock);
    this.#ended = new EndedMarks(options);
  }

  /** Seals a value for the browser that started a login. */
  async sealLogin(value: JsonObject): Promise<string> {
    const { seal } = await this.#sealed();
    return seal.seal(`login ${this.#options.binding}`, value);
  }

  /** Opens a value of `sealLogin`; `undefined` for anything else. */
  async openLogin(sealed: string): Promise<JsonObject | undefined> {
    const { seal } = await this.#sealed();
    return seal.open(`login ${this.#options.binding}`, sealed);
  }

  /** Begins a session, with an ID that no session before had. @throws {OAuthError} When it is too long for cookies. */
  async begin(
    { claims, ...tokens }: OpenIdTokens & { readonly claims: JsonObject },
    cookies: LoginCookies,
  ): Promise<readonly string[]> {
    const now = this.#options.clock.now();
    const { iat } = claims;
    return await this.#write({
      id: randomText(),
      subject: String(claims["sub"]),
      claims: userClaims(claims),
      tokens: sessionTokens(tokens, -1, now),
      startedAt: now,
      seenAt: now,
      issuedAt: typeof iat === "number" ? iat : now / 1000,
    }, cookies);
  }

  /**
   * Returns the session of a browser, with new tokens if the old ones are about to expire; `undefined` without one that is valid.
   * @throws {OAuthError} When nobody can tell whether it is valid.
   */
  async find(
    cookies: LoginCookies,
    cancellation: Cancellation,
  ): Promise<FoundSession | undefined> {
    const session = await this.read(cookies);
    if (session === undefined || await this.#ended.has(session)) {
      return undefined;
    }
    const renewed = await this.#renew(session, cancellation);
    if (renewed === undefined) return undefined;
    const { clock, idleMs } = this.#options;
    const now = clock.now();
    const isSeen = now - session.seenAt < Math.min(TOUCH_MS, idleMs / 2);
    if (isSeen && renewed === session) return { session, setCookies: [] };
    const current = { ...renewed, seenAt: now };
    const setCookies = await this.#write(current, cookies);
    return { session: current, setCookies };
  }

  /** Returns what the cookies say, unless it is over by itself. */
  async read(cookies: LoginCookies): Promise<BrowserSession | undefined> {
    const { names, clock, binding, idleMs, absoluteMs } = this.#options;
    const text = names.session(cookies);
    if (text === undefined) return undefined;
    const { seal } = await this.#sealed();
    const value = seal.open(`session ${binding}`, text);
    const session = value && decodeSession(value);
    if (session === undefined) return undefined;
    const now = clock.now();
    return isWithin(now - session.startedAt, absoluteMs) &&
        isWithin(now - session.seenAt, idleMs)
      ? session
      : undefined;
  }

  /** Ends a session everywhere. @throws {OAuthError} When the store is not available. */
  async end(session: BrowserSession): Promise<void> {
    await this.#ended.end(session);
    const { vault } = await this.#sealed();
    await vault.remove(this.#idOf(session)).catch(unavailable);
  }

  /** Ends sessions that the provider has ended. @throws {OAuthError} When the store is not available. */
  async endAll(ended: EndedSessions): Promise<void> {
    await this.#ended.endAll(ended);
  }

  async #write(
    session: BrowserSession,
    cookies: LoginCookies,
  ): Promise<readonly string[]> {
    const { names, binding, clock, idleMs, absoluteMs } = this.#options;
    const { seal } = await this.#sealed();
    const leftMs = absoluteMs - (clock.now() - session.startedAt);
    const lifetimeMs = Math.min(idleMs, Math.max(leftMs, 0));
    const { idToken: _, ...tokens } = session.tokens;
    // The ID token is only a hint for the logout at the provider.
    for (const each of [session, { ...session, tokens }]) {
      const sealed = seal.seal(`session ${binding}`, { ...each });
      const set = names.setSession(sealed, lifetimeMs, cookies);
      if (set !== undefined) return set;
    }
    throw new OAuthError(
      "server_error",
      "the identity provider says more about you than fits into cookies; whoever runs the gateway requests fewer scopes",
    );
  }

  /** Returns the session with tokens that are valid; `undefined` when the provider does not renew them. */
  async #renew(
    session: BrowserSession,
    cancellation: Cancellation,
  ): Promise<BrowserSession | undefined> {
    const { clock } = this.#options;
    const { renewAt = Infinity, expiresAt = Infinity } = session.tokens;
    if (clock.now() < renewAt) return session;
    const isValid = clock.now() < expiresAt;
    if (!this.#pauses.has(this.#idOf(session))) {
      try {
        return await this.#renewNow(session, cancellation);
      } catch (error) {
        if (error instanceof EndedError) {
          await this.end(session);
          return undefined;
        }
        this.#pauses.begin(this.#idOf(session));
        if (!isValid) throw notRenewed(error);
      }
    }
    if (isValid) return session;
    throw notRenewed("an attempt has failed just now");
  }

  /** One of all workers and replicas renews the tokens; the others get what it got. */
  async #renewNow(
    session: BrowserSession,
    cancellation: Cancellation,
  ): Promise<BrowserSession> {
    const { clock, client } = this.#options;
    const { vault } = await this.#sealed();
    const value = await vault.obtain(this.#idOf(session), {
      isValid: (value) => {
        const { renewAt = Infinity } = decodeTokens(value) ?? { renewAt: 0 };
        return clock.now() < renewAt;
      },
      renew: async (value, deadline) => {
        const { refreshToken = "", version, idToken } = decodeTokens(value) ??
          session.tokens;
        const { subject } = session;
        const { claims, ...renewed } = await client.renew(
          { refreshToken, subject },
          deadline,
        );
        const tokens = sessionTokens(
          { ...renewed, idToken: renewed.idToken ?? idToken },
          version,
          clock.now(),
        );
        return {
          ...tokens,
          claims: claims === undefined ? session.claims : userClaims(claims),
        };
      },
    });
    if (cancellation.cancelled) throw cancellation.reason;
    const tokens: SessionTokens = decodeTokens(value) ?? session.tokens;
    const claims = isJsonObject(value["claims"])
      ? value["claims"]
      : session.claims;
    return { ...session, tokens, claims };
  }

  #idOf({ id, subject }: BrowserSession): VaultId {
    const { client: { issuer, clientId }, binding } = this.#options;
    return { issuer, subject, server: binding, resource: id, client: clientId };
  }

  /** Starts with the first request that needs it, since the secret may come from a store. */
  #sealed(): Promise<Sealing> {
    if (this.#sealing !== undefined) return this.#sealing;
    const sealing = this.#options.secrets().then((secrets) => {
      const { records, clock, absoluteMs } = this.#options;
      const vault = new Vault({
        store: updating(records),
        seal: new VaultSeal(() => secrets),
        clock,
        randomId: () => crypto.randomUUID(),
        maxAgeMs: absoluteMs,
      });
      return { seal: new Seal<string>("gateway oidc", secrets), vault };
    }).catch(unavailable);
    this.#sealing = sealing;
    sealing.catch(() => this.#sealing = undefined);
    return sealing;
  }
}

interface Sealing {
  readonly seal: Seal<string>;
  readonly vault: Vault;
}

/** Clocks of replicas differ, but not by much: a session of the future is none. */
function isWithin(ageMs: number, limitMs: number): boolean {
  return ageMs >= -CLOCK_SKEW_MS && ageMs < limitMs;
}

function notRenewed(reason: unknown): OAuthError {
  return new OAuthError(
    "temporarily_unavailable",
    "the identity provider does not renew the login at the moment",
    describeError(reason),
    10,
  );
}
