import type { JsonObject } from "../../base/json.ts";
import { compareValues, showValues } from "../../base/log/log_text.ts";
import { TokenError } from "./token.ts";

/** Rules for the claims of a token. */
export interface ClaimRules {
  /** Accepted audiences; `undefined` accepts every audience. */
  readonly audiences: readonly string[] | undefined;
  /** Accepted difference between the clocks of provider and gateway. */
  readonly clockSkewMs: number;
  /** A token without expiry is accepted: somebody else has checked that it is active. */
  readonly mayLackExpiry?: true;
}

/**
 * Checks `exp`, `nbf`, `iat` and `aud`; RFC 7519 section 4.1.
 * @param now Milliseconds since the epoch.
 * @returns Expiry of the claims, in milliseconds since the epoch, including the clock skew; `Infinity` without one.
 * @throws {TokenError}
 */
export function checkClaims(
  claims: JsonObject,
  { audiences, clockSkewMs, mayLackExpiry }: ClaimRules,
  now: number,
): number {
  const expiry = timeClaim(claims, "exp") ??
    (mayLackExpiry ? Infinity : undefined);
  if (expiry === undefined) throw new TokenError("token has no expiry");
  const expiresAt = expiry + clockSkewMs;
  if (expiresAt <= now) {
    throw new TokenError("token has expired", showTime(expiry, now));
  }
  const notBefore = timeClaim(claims, "nbf") ?? 0;
  if (notBefore - clockSkewMs > now) {
    throw new TokenError("token is not valid yet", showTime(notBefore, now));
  }
  const issuedAt = timeClaim(claims, "iat") ?? 0;
  if (issuedAt - clockSkewMs > now) {
    throw new TokenError(
      "token is issued in the future",
      showTime(issuedAt, now),
    );
  }
  if (audiences !== undefined) checkAudience(claims.aud, audiences);
  return expiresAt;
}

function timeClaim(claims: JsonObject, name: string): number | undefined {
  if (!Object.hasOwn(claims, name)) return undefined;
  const value = claims[name];
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    throw new TokenError(`token claim "${name}" is not a timestamp`);
  }
  return value * 1000;
}

/** Largest value of a `Date`, in milliseconds. */
const LAST_TIME = 8.64e15;

/** Formats a time: `2026-11-21T08:00:00Z, 312 s ago`. */
function showTime(time: number, now: number): string {
  const seconds = Math.round(Math.abs(now - time) / 1000);
  const distance = time > now ? `in ${seconds} s` : `${seconds} s ago`;
  if (time > LAST_TIME) return distance;
  const text = new Date(time).toISOString().replace(/\.[0-9]+Z$/, "Z");
  return `${text}, ${distance}`;
}

function checkAudience(audience: unknown, allowed: readonly string[]): void {
  if (audience === undefined) {
    throw new TokenError(
      "token has no audience",
      compareValues("has no aud claim", allowed),
    );
  }
  const values: readonly unknown[] = Array.isArray(audience)
    ? audience
    : [audience];
  const names = values.filter((value) => typeof value === "string");
  if (names.length < values.length) {
    throw new TokenError("token audience is not a string");
  }
  if (!allowed.some((name) => names.includes(name))) {
    throw new TokenError(
      "token audience is not accepted",
      compareValues(`has ${showValues(names)}`, allowed),
    );
  }
}
