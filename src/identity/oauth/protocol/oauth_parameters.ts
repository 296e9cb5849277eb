import { Buffer } from "node:buffer";
import { OAuthError } from "./oauth_error.ts";

const scopePattern =
  /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;
/** Longest `scope`. */
export const MAX_SCOPE_LENGTH = 1024;

/** Parameters of an OAuth request by name. */
export type OAuthParameters = ReadonlyMap<string, string>;

/**
 * Reads the query or form of an OAuth request.
 *
 * Parameters without a value count as absent (RFC 6749 section 3.1). Only `resource` may repeat (RFC 8707 section 2), with equal
 * values: a token is issued for one MCP server.
 * @throws {OAuthError} `invalid_request` for a repeated parameter, `invalid_target` for two resources.
 */
export function readOAuthParameters(text: string): OAuthParameters {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (value === "") continue;
    const known = parameters.get(name);
    if (known === undefined) {
      parameters.set(name, value);
    } else if (name !== "resource") {
      throw new OAuthError(
        "invalid_request",
        `${displayName(name)} is repeated`,
      );
    } else if (known !== value) {
      throw new OAuthError("invalid_target", "more than one resource");
    }
  }
  return parameters;
}

/** Returns the value of a parameter. @throws {OAuthError} `invalid_request` when it is missing. */
export function requiredParameter(
  parameters: OAuthParameters,
  name: string,
): string {
  const value = parameters.get(name);
  if (value !== undefined) return value;
  throw new OAuthError("invalid_request", `${name} is missing`);
}

/**
 * Checks that `resource`, if present, is this MCP server (RFC 8707 section 2), with or without a slash at the end.
 * @throws {OAuthError} `invalid_target`
 */
export function expectResource(
  parameters: OAuthParameters,
  resource: string,
): void {
  const asked = parameters.get("resource");
  if (asked === undefined) return;
  if (asked.replace(/\/$/, "") === resource.replace(/\/$/, "")) return;
  throw new OAuthError("invalid_target", `resource is not ${resource}`);
}

/** Returns the header field of a client with a secret (RFC 6749 section 2.3.1). */
export function basicCredentials(clientId: string, secret: string): string {
  const pair = `${formEncode(clientId)}:${formEncode(secret)}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

/** Encodes as RFC 6749 appendix B requires, including the characters that `encodeURIComponent` does not encode. */
function formEncode(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}

/** Returns whether a string is a scope (RFC 6749 section 3.3) that is short enough to be forwarded. */
export function isScope(text: string): boolean {
  return text.length <= MAX_SCOPE_LENGTH && scopePattern.test(text);
}

function displayName(name: string): string {
  return /^\w{1,40}$/.test(name) ? name : "an unknown parameter";
}
