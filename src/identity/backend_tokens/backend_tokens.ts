import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { ConnectionRequiredError, GatewayError } from "../../base/errors.ts";
import type { UserLogin } from "../backend_tokens/backend_credentials.ts";
import {
  type BackendCredentials,
  type Caller,
  isCloudIdentity,
  isPerCaller,
  type TokenCredentials,
} from "./backend_credentials.ts";
import type { SharedTokens } from "./shared_tokens.ts";
import { failAgain, keep, keepShortly, type KeptToken } from "./kept_token.ts";
import type { IssuedToken } from "./oauth_library.ts";
import type { ProofKey } from "./proof_key.ts";
import { TokenEntries, type TokenEntry } from "./token_entries.ts";
import { tokenError, UnreadConnectionError } from "./token_error.ts";
import { requireCaller, type TokenSource } from "./token_source.ts";

/** A token for a request, and its origin. */
export interface BackendToken {
  readonly token: string;
  /** Key that the token is bound to, with which requests are proven; `undefined` for whoever bears it. */
  readonly proofKey?: ProofKey | undefined;
  readonly origin: "key" | "cache" | "server";
}

/** Tokens of users who have logged in at a backend. */
export interface UserTokens {
  /** Returns a token. @param rejected One that the backend does not accept. @throws {GatewayError} */
  obtain(
    login: UserLogin,
    user: Caller,
    rejected: string | undefined,
  ): Promise<Omit<IssuedToken, "issuedTokenType">>;
  /** Creates the error of a user whose token does not suffice. @param asked Scopes that the backend asks for. */
  rejected(
    login: UserLogin,
    user: Caller,
    asked: readonly string[],
  ): Promise<GatewayError>;
}

/** Dependencies of the tokens. */
export interface BackendTokensOptions {
  readonly clock: Clock;
  readonly source: Pick<TokenSource, "fetch">;
  /** Shares tokens of callers with other processes; `undefined` where there is no vault. */
  readonly shared?: SharedTokens | undefined;
  /** Tokens of users who have logged in at a backend; `undefined` where they cannot. */
  readonly connections?: UserTokens | undefined;
  /** Called after each token request. @param error `undefined` when there is a token. */
  onRequested(
    credentials: TokenCredentials,
    error: GatewayError | undefined,
  ): void;
}

const MAX_REQUESTS = 64;
/** A new token that the backend rejects is not replaced for this time: it is not the token's fault. */
const RENEWAL_PAUSE_MS = 30_000;

/**
 * Tokens for backends, kept until shortly before they expire, each for one user, server, resource and client. One request at a time
 * gets a token, for all requests that need it.
 */
export class BackendTokens {
  readonly #options: BackendTokensOptions;
  readonly #entries: TokenEntries;
  #requests = 0;

  constructor(options: BackendTokensOptions) {
    this.#options = options;
    this.#entries = new TokenEntries(options.clock);
  }

  /**
   * Returns a token that is valid now, without a promise when it is at hand.
   * @throws {GatewayError} `caller_rejected`, `credentials_rejected` or `credentials_unavailable`, as a rejection.
   */
  get(
    credentials: BackendCredentials,
    caller: Caller | undefined,
  ): BackendToken | Promise<BackendToken> {
    if (credentials.kind === "key") {
      return { token: credentials.token, origin: "key" };
    }
    const entry = this.#entries.entryOf(credentials, caller);
    const now = this.#options.clock.monotonic();
    const { current } = entry;
    if (current === undefined || now >= current.endsAt) {
      return this.#fetch(entry, credentials, caller).then(
        ({ token, proofKey }) => ({ token, proofKey, origin: "server" }),
        (error) => this.#spare(current, error),
      );
    }
    if (now >= current.renewAt) {
      // The token at hand is valid: nobody waits, and a failure comes up when it has ended.
      this.#fetch(entry, credentials, caller).catch(() => {});
    }
    return cached(current);
  }

  /**
   * Returns another token than one that the backend has rejected; `undefined` when there is no better one.
   * @param needsProof The backend wants a token that is bound to a key.
   * @throws {GatewayError} As `get`.
   */
  async replace(
    credentials: BackendCredentials,
    caller: Caller | undefined,
    rejected: string,
    needsProof = false,
  ): Promise<BackendToken | undefined> {
    if (credentials.kind === "key") return undefined;
    const entry = this.#entries.entryOf(credentials, caller);
    if (needsProof) entry.needsProof = true;
    if (entry.current?.token === rejected) {
      const now = this.#options.clock.monotonic();
      if (now < entry.replacedAt + RENEWAL_PAUSE_MS) return undefined;
      entry.replacedAt = now;
      entry.rejected = rejected;
      entry.current = undefined;
    }
    return await this.get(credentials, caller);
  }

  /**
   * Returns the token that a user has by now, if it is another one than the backend has found insufficient.
   * @throws {GatewayError} As `get`.
   */
  async newer(
    credentials: BackendCredentials,
    caller: Caller | undefined,
    used: string,
  ): Promise<BackendToken | undefined> {
    if (credentials.kind !== "oauth") return undefined;
    const entry = this.#entries.entryOf(credentials, caller);
    if (entry.current?.token === used) entry.current = undefined;
    const found = await this.get(credentials, caller);
    return found.token === used ? undefined : found;
  }

  /** Creates the error of a caller whose login at a backend does not suffice. @param scopes Scopes that the backend asks for. */
  async insufficient(
    login: UserLogin,
    caller: Caller | undefined,
    scopes: readonly string[],
  ): Promise<GatewayError> {
    const { connections, user } = this.#userOf(login, caller);
    return await connections.rejected(login, user, scopes);
  }

  /** Forgets the token of a user whose login at a backend has ended. */
  forget(
    login: UserLogin,
    { issuer, subject }: Pick<Caller, "issuer" | "subject">,
  ): void {
    this.#entries.delete(login, { issuer, subject, rights: "" });
  }

  /** Number of tokens, for descriptions. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns a token that was valid a moment ago, while nobody can tell whether it still is. @throws The error, without one. */
  #spare(current: KeptToken | undefined, error: unknown): BackendToken {
    const isUnread = error instanceof UnreadConnectionError;
    const now = this.#options.clock.monotonic();
    if (!isUnread || current === undefined || now >= current.spareUntil) {
      throw error;
    }
    return cached(current);
  }

  async #fetch(
    entry: TokenEntry,
    credentials: TokenCredentials | UserLogin,
    caller: Caller | undefined,
  ): Promise<KeptToken> {
    const { clock } = this.#options;
    if (entry.pending !== undefined) return await entry.pending;
    const { failure } = entry;
    if (failure !== undefined && clock.monotonic() < failure.retryAt) {
      throw failure.error;
    }
    if (this.#requests >= MAX_REQUESTS) {
      const problem = `${MAX_REQUESTS} token requests are under way`;
      throw tokenError("credentials_unavailable", credentials, problem);
    }
    this.#requests++;
    entry.pending = this.#request(entry, credentials, caller).finally(() => {
      this.#requests--;
      entry.pending = undefined;
    });
    return await entry.pending;
  }

  async #request(
    entry: TokenEntry,
    credentials: TokenCredentials | UserLogin,
    caller: Caller | undefined,
  ): Promise<KeptToken> {
    const { clock } = this.#options;
    try {
      const kept = credentials.kind === "oauth"
        ? await this.#lookUp(entry, credentials, caller)
        : keep(
          await this.#issue(entry, credentials, caller),
          isCloudIdentity(credentials),
          clock.monotonic(),
        );
      entry.failure = undefined;
      return entry.current = kept;
    } catch (error) {
      // The user may log in at any time.
      if (error instanceof ConnectionRequiredError) {
        entry.current = entry.failure = undefined;
        throw error;
      }
      entry.failure = failAgain(entry.failure, error, clock.monotonic());
      throw error;
    }
  }

  async #issue(
    entry: TokenEntry,
    credentials: TokenCredentials,
    caller: Caller | undefined,
  ): Promise<IssuedToken> {
    const { source, shared, onRequested } = this.#options;
    const fetch = async (cancellation?: Cancellation) => {
      const { needsProof } = entry;
      const demand = { cancellation, needsProof };
      const issued = await source.fetch(credentials, caller, demand);
      onRequested(credentials, undefined);
      return issued;
    };
    try {
      return shared === undefined || caller === undefined ||
          !isPerCaller(credentials)
        ? await fetch()
        : await shared.obtain(credentials, caller, entry.rejected, fetch);
    } catch (error) {
      if (error instanceof GatewayError) onRequested(credentials, error);
      throw error;
    }
  }

  async #lookUp(
    entry: TokenEntry,
    login: UserLogin,
    caller: Caller | undefined,
  ): Promise<KeptToken> {
    const { clock } = this.#options;
    const { connections, user } = this.#userOf(login, caller);
    const lookedUpAt = clock.monotonic();
    const before = entry.proofKey;
    const found = await connections.obtain(login, user, entry.rejected);
    // The key at hand knows the nonces of the servers.
    const proofKey = before?.thumbprint === found.proofKey?.thumbprint
      ? before
      : found.proofKey;
    entry.proofKey = proofKey;
    return keepShortly({ ...found, proofKey }, lookedUpAt);
  }

  #userOf(login: UserLogin, caller: Caller | undefined) {
    const { connections } = this.#options;
    if (connections === undefined) {
      const problem = 'users cannot log in there without "config.connections"';
      throw tokenError("credentials_rejected", login, problem);
    }
    return { connections, user: requireCaller(login, caller) };
  }
}

function cached({ token, proofKey }: KeptToken): BackendToken {
  return { token, proofKey, origin: "cache" };
}
