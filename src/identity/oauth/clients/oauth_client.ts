import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../../base/json.ts";
import { OAuthError } from "../protocol/oauth_error.ts";
import {
  isRegisteredRedirectUri,
  MAX_REDIRECT_URIS,
  redirectUriProblem,
} from "./redirect_uri.ts";
import { type Seal, sha256 } from "../protocol/seal.ts";

/** An application whose user logs in, such as an editor with an MCP client. */
export interface OAuthClient {
  /** Sealed metadata of a registered client, or the URL of a client metadata document. */
  readonly id: string;
  /** Name that the client chose itself: shown to the user, never used for a decision. */
  readonly name: string | undefined;
  readonly redirectUris: readonly string[];
  /** Keys of a client that signs its requests for tokens (`private_key_jwt`): its key set, or the URL of that. */
  readonly keys?:
    | { readonly jwks: string }
    | { readonly url: string }
    | undefined;
}

/** Prefix of every client ID that the gateway issues. */
const PREFIX = "gw-";
const MAX_NAME_LENGTH = 100;

/**
 * Registers a public client (RFC 7591); returns it and the registration response.
 *
 * The client ID is the sealed registration itself: a flood of registrations fills no memory, and every replica knows every
 * client.
 * @throws {OAuthError} `invalid_redirect_uri` or `invalid_client_metadata`.
 */
export function registerOAuthClient(
  metadata: unknown,
  seal: Seal,
  nowMs: number,
): {
  readonly client: Pick<OAuthClient, "redirectUris">;
  readonly response: JsonObject;
} {
  if (!isJsonObject(metadata)) {
    throw new OAuthError("invalid_client_metadata", "expected a JSON object");
  }
  const redirectUris = readRedirectUris(metadata);
  const name = readName(metadata);
  const issuedAt = Math.floor(nowMs / 1000);
  const id = PREFIX +
    seal.seal("client", { r: redirectUris, n: name, t: issuedAt });
  const response = {
    ...echoOf(metadata),
    redirect_uris: redirectUris,
    client_id: id,
    client_id_issued_at: issuedAt,
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  };
  return { client: { redirectUris }, response };
}

/** Returns the client with an ID that `registerOAuthClient` issued; `undefined` for any other ID. */
export function openOAuthClient(
  id: string,
  seal: Seal,
): OAuthClient | undefined {
  if (!id.startsWith(PREFIX)) return undefined;
  const value = seal.open("client", id.slice(PREFIX.length));
  if (value === undefined) return undefined;
  return {
    id,
    name: stringMember(value, "n"),
    redirectUris: stringsOf(value["r"]),
  };
}

/** Reads a client from the metadata document at its URL. @throws {OAuthError} `invalid_client` when the document is invalid. */
export function clientOfDocument(
  url: string,
  document: JsonObject,
): OAuthClient {
  if (document["client_id"] !== url) {
    throw new OAuthError(
      "invalid_client",
      "client_id of the client metadata document is not its URL",
    );
  }
  return {
    id: url,
    name: readName(document),
    redirectUris: readRedirectUris(document),
    keys: readKeys(document),
  };
}

function readKeys(document: JsonObject): OAuthClient["keys"] {
  const { token_endpoint_auth_method: method = "none", jwks } = document;
  if (method === "none") return undefined;
  const url = stringMember(document, "jwks_uri");
  const isSigned = method === "private_key_jwt";
  if (isSigned && isJsonObject(jwks)) return { jwks: JSON.stringify(jwks) };
  if (isSigned && url?.startsWith("https://") && URL.canParse(url)) {
    return { url };
  }
  throw new OAuthError(
    "invalid_client",
    'the client metadata document needs token_endpoint_auth_method "none", or "private_key_jwt" with jwks or an HTTPS jwks_uri',
  );
}

/**
 * Returns the redirect URI of an authorization request, which may omit it if the client has only one (RFC 6749 section 3.1.2.3).
 * @throws {OAuthError} `invalid_request`; the error must then not be sent to a redirect URI.
 */
export function chooseRedirectUri(
  client: OAuthClient,
  requested: string | undefined,
): string {
  const [only, ...others] = client.redirectUris;
  if (requested === undefined) {
    if (only !== undefined && others.length === 0) return only;
    throw new OAuthError("invalid_request", "redirect_uri is missing");
  }
  if (isRegisteredRedirectUri(requested, client.redirectUris)) return requested;
  throw new OAuthError(
    "invalid_request",
    "redirect_uri is not one that the client registered",
  );
}

/** Identifies a client in sealed values in 43 characters. */
export function fingerprintOf(clientId: string): string {
  return sha256(clientId);
}

function readRedirectUris(metadata: JsonObject): readonly string[] {
  const uris = stringsOf(metadata["redirect_uris"]);
  if (uris.length === 0 || uris.length > MAX_REDIRECT_URIS) {
    throw new OAuthError(
      "invalid_redirect_uri",
      `redirect_uris: expected 1 to ${MAX_REDIRECT_URIS} URIs`,
    );
  }
  for (const [index, uri] of uris.entries()) {
    const problem = redirectUriProblem(uri);
    if (problem !== undefined) {
      throw new OAuthError(
        "invalid_redirect_uri",
        `redirect_uris[${index}]: ${problem}`,
      );
    }
  }
  return uris;
}

/** Removes control and formatting characters, which could disguise the name on the consent page. */
function readName(metadata: JsonObject): string | undefined {
  const name = stringMember(metadata, "client_name")
    ?.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ").trim().slice(0, MAX_NAME_LENGTH);
  return name === "" ? undefined : name;
}

const echoedMembers = [
  "client_name",
  "client_uri",
  "logo_uri",
  "scope",
  "contacts",
  "software_id",
  "software_version",
];

function echoOf(metadata: JsonObject): JsonObject {
  return Object.fromEntries(
    echoedMembers.filter((name) => Object.hasOwn(metadata, name))
      .map((name) => [name, metadata[name]]),
  );
}

function stringsOf(value: unknown): readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string")
    ? value
    : [];
}
