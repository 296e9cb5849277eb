import type { JsonObject } from "./json.ts";
import { TokenError } from "./token.ts";

/** What the claims of a token are held to. */
export interface ClaimRules {
  /** `undefined` accepts every audience. */
  readonly audiences: readonly string[] | undefined;
  /** By how much the clocks of provider and gateway may differ. */
  readonly clockSkewMs: number;
}

/**
 * Checks `exp` (required), `nbf`, `iat` and `aud`; RFC 7519 section 4.1.
 * @param now Milliseconds since the epoch.
 * @returns Until when the claims hold, in milliseconds since the epoch, leeway included.
 * @throws {TokenError}
 */
export function checkClaims(
  claims: JsonObject,
  { audiences, clockSkewMs }: ClaimRules,
  now: number,
): number {
  const expiry = timeClaim(claims, "exp");
  if (expiry === undefined) throw new TokenError("token has no expiry");
  const expiresAt = expiry + clockSkewMs;
  if (expiresAt <= now) throw new TokenError("token has expired");
  if ((timeClaim(claims, "nbf") ?? 0) - clockSkewMs > now) {
    throw new TokenError("token is not valid yet");
  }
  if ((timeClaim(claims, "iat") ?? 0) - clockSkewMs > now) {
    throw new TokenError("token is issued in the future");
  }
  if (audiences !== undefined) checkAudience(claims.aud, audiences);
  return expiresAt;
}

function timeClaim(claims: JsonObject, name: string): number | undefined {
  if (!Object.hasOwn(claims, name)) return undefined;
  const value = claims[name];
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    throw new TokenError(`token claim "${name}" is no time`);
  }
  return value * 1000;
}

function checkAudience(audience: unknown, allowed: readonly string[]): void {
  const values: readonly unknown[] = Array.isArray(audience)
    ? audience
    : [audience];
  if (values.some((value) => typeof value !== "string")) {
    throw new TokenError("token audience is not text");
  }
  if (!allowed.some((name) => values.includes(name))) {
    throw new TokenError("token is for another audience");
  }
}
