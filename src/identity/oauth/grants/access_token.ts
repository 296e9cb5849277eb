import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import { readMembers } from "../../../base/json/decode_members.ts";
import { DocumentUnavailableError } from "../../documents/remote_document.ts";
import { TokenError } from "../../tokens/token.ts";
import { TokenCache } from "../../tokens/token_cache.ts";
import { OAuthError } from "../protocol/oauth_error.ts";
import type { Seal } from "../protocol/seal.ts";
import type { GrantStore } from "./grant_store.ts";

/** Right of a client to use one MCP server; sealed, it is the access token of the gateway. */
export interface AccessGrant {
  /** ID of the grant, which ends its tokens. */
  readonly grant: string;
  /** When the grant started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** Fingerprint of the client. */
  readonly client: string;
  /** URL of the MCP server: the token is for no other one. */
  readonly resource: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Whom the client acts for: a token of the provider, which the client never sees, or claims that the gateway has verified. */
  readonly subject: { readonly token: string } | {
    readonly claims: JsonObject;
  };
}

/** Time for which a grant is believed not to have ended: revocation takes effect everywhere within it. */
const REVOCATION_MS = 5000;
const PREFIX = "gwt-";
/** Longer tokens do not fit into the headers of some clients and servers. */
const MAX_LENGTH = 16 * 1024;
const RETRY_AFTER_SECONDS = 2;

/** Nobody knows whether the grant of a token has ended. */
export class GrantUnavailableError extends DocumentUnavailableError {}

/** Reports whether a token looks like one of the gateway. */
export function isOwnToken(text: string): boolean {
  return text.startsWith(PREFIX);
}

interface OpenedToken extends AccessGrant {
  readonly text: string;
  /** The grant had not ended at this time, in milliseconds of the monotonic clock. */
  checkedAt: number;
}

/** Issues and opens the access tokens of the gateway. */
export class AccessTokens {
  readonly #seal: Seal;
  readonly #grants: Pick<GrantStore, "isEnded">;
  readonly #clock: Clock;
  readonly #opened = new TokenCache<OpenedToken>();

  constructor(
    { seal, grants, clock }: {
      readonly seal: Seal;
      readonly grants: Pick<GrantStore, "isEnded">;
      readonly clock: Clock;
    },
  ) {
    this.#seal = seal;
    this.#grants = grants;
    this.#clock = clock;
  }

  /** Seals a grant. @throws {OAuthError} `server_error` when the token of the provider is too long. */
  issue(grant: AccessGrant): string {
    const token = PREFIX + this.#seal.seal("access", { ...grant });
    if (token.length <= MAX_LENGTH) return token;
    throw new OAuthError(
      "server_error",
      "the token of the identity provider is too long",
      `the sealed token has ${token.length} characters, more than ${MAX_LENGTH}; the provider should leave out claims`,
    );
  }

  /** Returns the grant of a token, without looking whether it has ended; `undefined` for anything else. */
  read(text: string): AccessGrant | undefined {
    if (!isOwnToken(text) || text.length > MAX_LENGTH) return undefined;
    const value = this.#seal.open("access", text.slice(PREFIX.length));
    return value && readGrant(value);
  }

  /**
   * Returns the grant of a token, without a promise while it is known that it has not ended.
   * @throws {TokenError} When it is invalid, has expired or has ended (as all errors, also as a rejection).
   * @throws {GrantUnavailableError} When the store is not available.
   */
  open(text: string): AccessGrant | Promise<AccessGrant> {
    const now = this.#clock.now();
    const known = this.#opened.get(text, now);
    const isFresh = known !== undefined &&
      this.#clock.monotonic() - known.checkedAt < REVOCATION_MS;
    if (isFresh) return known;
    const grant = known ?? this.read(text);
    if (grant === undefined) {
      throw new TokenError(
        "token is not from this gateway, or its secret was replaced",
      );
    }
    if (grant.expiresAt <= now) throw new TokenError("token has expired");
    return this.#check(text, grant);
  }

  async #check(text: string, grant: AccessGrant): Promise<AccessGrant> {
    // From before the question: what ends while it is under way is noticed in time.
    const checkedAt = this.#clock.monotonic();
    if (await this.#isEnded(grant.grant)) {
      this.#opened.delete(text);
      throw new TokenError("token was revoked");
    }
    const opened = { ...grant, text, checkedAt };
    this.#opened.add(opened);
    return opened;
  }

  async #isEnded(grant: string): Promise<boolean> {
    try {
      return await this.#grants.isEnded(grant);
    } catch (error) {
      throw new GrantUnavailableError(
        `Cannot read whether the grant has ended: ${describeError(error)}`,
        RETRY_AFTER_SECONDS,
      );
    }
  }
}

function readGrant(value: JsonObject): AccessGrant | undefined {
  const grant = readMembers(value, {
    grant: "string",
    client: "string",
    startedAt: "number",
    resource: "string",
    expiresAt: "number",
  });
  const subject = readSubject(value["subject"]);
  return grant && subject && { ...grant, subject };
}

function readSubject(value: unknown): AccessGrant["subject"] | undefined {
  return readMembers(value, { token: "string" }) ??
    readMembers(value, { claims: "object" });
}
