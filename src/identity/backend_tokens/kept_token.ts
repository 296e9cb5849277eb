import { createHash } from "node:crypto";
import {
  type Caller,
  isPerCaller,
  type TokenCredentials,
  type UserLogin,
} from "./backend_credentials.ts";
import type { IssuedToken } from "./oauth_library.ts";

/** Lifetime of tokens whose server does not say it. */
const UNKNOWN_LIFETIME_MS = 5 * 60_000;
/** A token is renewed so long before its end, but not before the last fifth of its lifetime. */
const MARGIN_MS = 60_000;
/** The same for identities of clouds, whose servers give out the next token so long before. */
const CLOUD_MARGIN_MS = 5 * 60_000;
/** Tokens of users are looked up again after this time: what was revoked ends everywhere soon. */
const LOOK_UP_MS = 5000;
/** A request waits for that look-up after this time. */
const LONGEST_UNSEEN_MS = 30_000;

/** A token at hand; times are monotonic, in milliseconds. */
export interface KeptToken {
  readonly token: string;
  readonly renewAt: number;
  readonly endsAt: number;
}

/** Users revoke connections, also in other processes: how long a token is used unseen does not depend on its lifetime. */
export function keepShortly(
  token: string,
  lifetimeMs: number,
  now: number,
): KeptToken {
  return {
    token,
    renewAt: now + Math.min(LOOK_UP_MS, lifetimeMs),
    endsAt: now + Math.min(LONGEST_UNSEEN_MS, lifetimeMs),
  };
}

/** Keeps a token for most of its lifetime. @param isOfCloud Of an identity of a cloud. */
export function keep(
  { token, lifetimeMs = UNKNOWN_LIFETIME_MS }: IssuedToken,
  isOfCloud: boolean,
  now: number,
): KeptToken {
  const longestMarginMs = isOfCloud ? CLOUD_MARGIN_MS : MARGIN_MS;
  const marginMs = Math.min(longestMarginMs, lifetimeMs / 5);
  // The last part is for the way to the backend.
  const endsAt = now + lifetimeMs - Math.min(MARGIN_MS, marginMs) / 5;
  return { token, renewAt: now + lifetimeMs - marginMs, endsAt };
}

/** Returns the key of a token. JSON separates its parts, so that no two lists have the same key. */
export function keyOf(
  credentials: TokenCredentials | UserLogin,
  caller: Pick<Caller, "issuer" | "subject" | "rights"> | undefined,
): string {
  const { fingerprint, backend, kind } = credentials;
  if (!isPerCaller(credentials)) return fingerprint;
  const user = caller === undefined
    ? []
    // A login at a backend is that of the user, whatever the rights of the token at the gateway are.
    : [caller.issuer, caller.subject, kind === "oauth" ? "" : caller.rights];
  return createHash("sha256")
    .update(JSON.stringify([fingerprint, backend, ...user]))
    .digest("base64url");
}
