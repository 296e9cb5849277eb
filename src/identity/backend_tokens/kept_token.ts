import { createHash } from "node:crypto";
import {
  type Caller,
  isPerCaller,
  type TokenCredentials,
  type UserLogin,
} from "./backend_credentials.ts";
import type { IssuedToken } from "./oauth_library.ts";
import type { ProofKey } from "./proof_key.ts";
import { UnreadConnectionError } from "./token_error.ts";

/** Lifetime of tokens whose server does not say it. */
const UNKNOWN_LIFETIME_MS = 5 * 60_000;
/** A token is renewed so long before its end, but not before the last fifth of its lifetime. */
const MARGIN_MS = 60_000;
/** The same for identities of clouds, whose servers give out the next token so long before. */
const CLOUD_MARGIN_MS = 5 * 60_000;
/** Tokens of users are looked up again after this time: what was revoked ends everywhere soon. */
const LOOK_UP_MS = 500;
/** A request waits for that look-up after this time. */
const LONGEST_UNSEEN_MS = 1000;
/** A token that cannot be looked up is used for so long after the last time. */
const LONGEST_AWAY_MS = 30_000;

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;

/** A token at hand; times are monotonic, in milliseconds. */
export interface KeptToken {
  readonly token: string;
  /** Key that the token is bound to. */
  readonly proofKey: ProofKey | undefined;
  readonly renewAt: number;
  readonly endsAt: number;
  /** While the server or the store is away, it is used for so long. */
  readonly spareUntil: number;
}

/** A failed attempt to get a token. */
export interface TokenFailure {
  readonly error: unknown;
  /** Monotonic time of the next attempt. */
  readonly retryAt: number;
  readonly pauseMs: number;
}

/** Returns a failure after another one: pauses double, except while the store is away, which a look-up does not burden. */
export function failAgain(
  before: TokenFailure | undefined,
  error: unknown,
  now: number,
): TokenFailure {
  const pauseMs = before === undefined || error instanceof UnreadConnectionError
    ? FIRST_RETRY_MS
    : Math.min(LONGEST_RETRY_MS, before.pauseMs * 2);
  return { error, retryAt: now + pauseMs, pauseMs };
}

/**
 * Users revoke connections, also in other processes: how long a token is used unseen does not depend on its lifetime.
 * @param lookedUpAt Monotonic time when the look-up began: the connection may have ended since.
 */
export function keepShortly(
  { token, lifetimeMs = Infinity, proofKey }: Omit<
    IssuedToken,
    "issuedTokenType"
  >,
  lookedUpAt: number,
): KeptToken {
  const until = (ms: number) => lookedUpAt + Math.min(ms, lifetimeMs);
  return {
    token,
    proofKey,
    renewAt: until(LOOK_UP_MS),
    endsAt: until(LONGEST_UNSEEN_MS),
    spareUntil: until(LONGEST_AWAY_MS),
  };
}

/** Keeps a token for most of its lifetime. @param isOfCloud Of an identity of a cloud. */
export function keep(
  { token, lifetimeMs = UNKNOWN_LIFETIME_MS, proofKey }: IssuedToken,
  isOfCloud: boolean,
  now: number,
): KeptToken {
  const longestMarginMs = isOfCloud ? CLOUD_MARGIN_MS : MARGIN_MS;
  const marginMs = Math.min(longestMarginMs, lifetimeMs / 5);
  // The last part is for the way to the backend.
  const endsAt = now + lifetimeMs - Math.min(MARGIN_MS, marginMs) / 5;
  const renewAt = now + lifetimeMs - marginMs;
  return { token, proofKey, renewAt, endsAt, spareUntil: endsAt };
}

/** Returns the key of a token. Callers are remembered: requests with the same token share one. */
export function keyOf(
  credentials: TokenCredentials | UserLogin,
  caller: Identity | undefined,
): string {
  if (!isPerCaller(credentials)) return credentials.fingerprint;
  if (caller === undefined) return digestOf(credentials, []);
  const known = keys.getOrInsertComputed(credentials, () => new WeakMap());
  return known.getOrInsertComputed(caller, ({ issuer, subject, rights }) =>
    // A login at a backend is that of the user, whatever the rights of the token at the gateway are.
    digestOf(credentials, [
      issuer,
      subject,
      credentials.kind === "oauth" ? "" : rights,
    ]));
}

type Identity = Pick<Caller, "issuer" | "subject" | "rights">;

/** Keys by credentials and caller. */
const keys = new WeakMap<object, WeakMap<Identity, string>>();

/** JSON separates the parts, so that no two lists have the same digest. */
function digestOf(
  { fingerprint, backend }: Pick<UserLogin, "fingerprint" | "backend">,
  user: readonly string[],
): string {
  return createHash("sha256")
    .update(JSON.stringify([fingerprint, backend, ...user]))
    .digest("base64url");
}
