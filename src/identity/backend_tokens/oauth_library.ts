/** The only file that imports oauth4webapi: forms requests to authorization servers, and checks what they respond. */
import type * as OAuth from "oauth4webapi";
import { basicCredentials } from "../oauth/protocol/oauth_parameters.ts";
import { importPrivateKey } from "../keys/jose.ts";
import type { ClientAuthentication } from "./backend_credentials.ts";
import type { ProofKey } from "./proof_key.ts";

/** The library, once it is loaded. */
export type OAuthLibrary = typeof OAuth;

/** Metadata of an authorization server (RFC 8414). */
export type ServerMetadata = OAuth.AuthorizationServer;

/** A token that an authorization server has issued. */
export interface IssuedToken {
  readonly token: string;
  /** Lifetime in milliseconds; `undefined` if the server does not say it. */
  readonly lifetimeMs: number | undefined;
  /** URI of its type, of a token exchange. */
  readonly issuedTokenType: string | undefined;
  /** Key that the token is bound to; `undefined` for whoever bears it. */
  readonly proofKey?: ProofKey | undefined;
}

/** Longer tokens do not fit into header fields. */
const MAX_TOKEN_LENGTH = 16 * 1024;

let library: Promise<OAuthLibrary> | undefined;

/** Loads the library with the first token: many gateways need none. */
export function loadOAuthLibrary(): Promise<OAuthLibrary> {
  return library ??= import("oauth4webapi");
}

/** Returns how a client authenticates at a server. */
export async function authenticate(
  authentication: ClientAuthentication,
  server: ServerMetadata,
  oauth: OAuthLibrary,
): Promise<OAuth.ClientAuth> {
  switch (authentication.method) {
    case "none":
      return oauth.None();
    case "secret": {
      const { secret, place } = authentication;
      const { token_endpoint_auth_methods_supported: methods } = server;
      const acceptsBasic = methods?.includes("client_secret_basic") !== false;
      return place === "Post" || place === undefined && !acceptsBasic
        ? oauth.ClientSecretPost(secret)
        // The library also encodes characters such as "-", which servers that do not decode compare.
        : (_server, { client_id: id }, _body, headers) =>
          headers.set("authorization", basicCredentials(id, secret));
    }
    case "privateKey": {
      const { pem, algorithm, keyId } = authentication;
      const key = await importPrivateKey(pem, algorithm);
      return oauth.PrivateKeyJwt(
        keyId === undefined ? key : { key, kid: keyId },
        {
          [oauth.modifyAssertion]: (header) => {
            header["alg"] = algorithm;
          },
        },
      );
    }
  }
}

/**
 * Sends a token request, and once more if the server wants a nonce in its proof (RFC 9449 section 8).
 * @param send Authenticates anew each time: assertions count once.
 */
export async function withNonce<Result>(
  proofKey: ProofKey | undefined,
  oauth: OAuthLibrary,
  send: () => Promise<Result>,
): Promise<Result> {
  try {
    return await send();
  } catch (error) {
    const wantsNonce = error instanceof oauth.ResponseBodyError &&
      error.error === "use_dpop_nonce";
    if (proofKey === undefined || !wantsNonce) throw error;
    return await send();
  }
}

/** The token that a response has to have. */
export interface ExpectedToken {
  /** It is no access token, and so of the type `N_A` (RFC 8693 section 2.2.1). */
  readonly isAssertion?: boolean;
  /** Key of the proof that was sent; a token that is not bound to it is a downgrade. */
  readonly proofKey?: ProofKey | undefined;
}

/**
 * Reads the token of a response.
 * @throws {TypeError} When it is none that the gateway can send.
 */
export function readIssuedToken(
  response: OAuth.TokenEndpointResponse,
  { isAssertion = false, proofKey }: ExpectedToken = {},
): IssuedToken {
  const type = isAssertion ? "n_a" : proofKey === undefined ? "bearer" : "dpop";
  const { access_token: token, token_type, expires_in, issued_token_type } =
    response;
  if (token_type.toLowerCase() !== type) {
    throw new TypeError(`expected a token of type "${type}"`);
  }
  if (token.length > MAX_TOKEN_LENGTH || !/^[\x21-\x7e]+$/.test(token)) {
    throw new TypeError("the token does not fit into a header field");
  }
  return {
    token,
    lifetimeMs: expires_in === undefined ? undefined : expires_in * 1000,
    issuedTokenType: typeof issued_token_type === "string"
      ? issued_token_type
      : undefined,
    proofKey,
  };
}
