import type { AuthorizationRule } from "./authorization_rule.ts";

/** Limit of granted scopes that the challenge repeats. */
const MAX_GRANTED = 64;

/**
 * Returns the scopes of a token that satisfies the rules: those it has, then those it lacks, so that a new token keeps all.
 *
 * `undefined` when more scopes would not help: a client must not request a token that is rejected again.
 */
export function missingScopes(
  claims: Readonly<Record<string, unknown>>,
  rules: readonly Pick<AuthorizationRule, "requiredScopes">[],
): readonly string[] | undefined {
  const required: string[] = [];
  for (const { requiredScopes } of rules) {
    if (requiredScopes === undefined) return undefined;
    required.push(...requiredScopes);
  }
  const granted = grantedScopes(claims);
  if (required.every((scope) => granted.includes(scope))) return undefined;
  return [...new Set([...granted, ...required])];
}

function grantedScopes(claims: Readonly<Record<string, unknown>>): string[] {
  return [claims["scope"], claims["scp"], claims["scopes"]]
    .flatMap((claim) => typeof claim === "string" ? claim.split(" ") : claim)
    .filter(isScope).slice(0, MAX_GRANTED);
}

/** A scope token of RFC 6749 section 3.3, of reasonable length. */
function isScope(value: unknown): value is string {
  return typeof value === "string" &&
    /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/.test(value);
}
