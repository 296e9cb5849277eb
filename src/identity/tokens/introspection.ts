import {
  isDeeperThan,
  type JsonObject,
  stringMember,
} from "../../base/json.ts";
import type { Clock } from "../../base/clock.ts";
import type { ClientAuthentication } from "../backend_tokens/backend_credentials.ts";
import {
  authenticate,
  loadOAuthLibrary,
  type OAuthLibrary,
  type ServerMetadata,
} from "../backend_tokens/oauth_library.ts";
import type { ServerRequests } from "../backend_tokens/server_requests.ts";
import { signatureAlgorithms } from "../keys/public_key.ts";
import { checkClaims } from "./claims.ts";
import { TokenError } from "./token.ts";

/** The authorization server that is asked about tokens, and the client that the gateway is there. */
export interface IntrospectionServer {
  readonly issuer: string;
  readonly audiences: readonly string[] | undefined;
  readonly clockSkewMs: number;
  readonly clientId: string;
  readonly authentication: ClientAuthentication;
  /** Requires signed responses (RFC 9701). */
  readonly isSigned: boolean;
  /** Returns the metadata of the server. Rejects while it is not available. */
  metadata(): JsonObject | Promise<JsonObject>;
}

/** A token that the server has called active. */
export interface ActiveToken {
  /** With the issuer as `iss`. */
  readonly claims: JsonObject;
  /** In milliseconds since the epoch; `Infinity` if the server does not say it. */
  readonly expiresAt: number;
}

const MAX_DEPTH = 32;

/** Asks an authorization server about a token (RFC 7662). */
export class Introspection {
  readonly #server: IntrospectionServer;
  readonly #requests: ServerRequests;
  readonly #clock: Clock;
  #known:
    | { readonly metadata: JsonObject; readonly server: ServerMetadata }
    | undefined;

  constructor(
    server: IntrospectionServer,
    { requests, clock }: {
      readonly requests: ServerRequests;
      readonly clock: Clock;
    },
  ) {
    this.#server = server;
    this.#requests = requests;
    this.#clock = clock;
  }

  /**
   * Returns what the server says about a token.
   * @throws {TokenError} When the token is not active, or not for this gateway.
   * @throws {Error} When the server cannot be asked, or does not respond as it should.
   */
  async ask(token: string): Promise<ActiveToken> {
    const oauth = await loadOAuthLibrary();
    const response = await this.#request(token, oauth);
    if (isDeeperThan(response, MAX_DEPTH)) {
      throw new TypeError("the response is nested too deeply");
    }
    if (response["active"] !== true) {
      throw new TokenError("token is not active");
    }
    return this.#check(response);
  }

  async #request(token: string, oauth: OAuthLibrary): Promise<JsonObject> {
    const { issuer, clientId, authentication, isSigned } = this.#server;
    const server = this.#serverOf(await this.#server.metadata());
    const client = { client_id: clientId };
    const options = this.#requests.options(issuer, oauth);
    const response = await oauth.introspectionRequest(
      server,
      client,
      await authenticate(authentication, server, oauth),
      token,
      {
        ...options,
        requestJwtResponse: isSigned,
        additionalParameters: { token_type_hint: "access_token" },
      },
    );
    if (isSigned && response.status === 200 && !isJwt(response)) {
      // Servers that do not sign responses for this client respond with plain JSON.
      throw new TypeError("the response is not signed");
    }
    const found = await oauth.processIntrospectionResponse(
      server,
      client,
      response,
    );
    if (isSigned) {
      await oauth.validateApplicationLevelSignature(server, response, options);
    }
    return { ...found };
  }

  /** Returns the same object for the same metadata: the library keeps the keys of a server with it. */
  #serverOf(metadata: JsonObject): ServerMetadata {
    if (this.#known?.metadata === metadata) return this.#known.server;
    const { issuer } = this.#server;
    if (metadata["issuer"] !== issuer) {
      throw new TypeError(
        '"issuer" of the metadata is not the configured issuer',
      );
    }
    const methods = stringsOf(
      metadata["introspection_endpoint_auth_methods_supported"],
    ) ?? stringsOf(metadata["token_endpoint_auth_methods_supported"]);
    const endpoint = stringMember(metadata, "introspection_endpoint");
    if (endpoint === undefined) {
      throw new TypeError('the metadata has no "introspection_endpoint"');
    }
    const keys = stringMember(metadata, "jwks_uri");
    const server: ServerMetadata = {
      issuer,
      introspection_endpoint: endpoint,
      introspection_signing_alg_values_supported: [...signatureAlgorithms],
      ...(keys !== undefined && { jwks_uri: keys }),
      ...(methods && { token_endpoint_auth_methods_supported: methods }),
    };
    this.#known = { metadata, server };
    return server;
  }

  #check(response: JsonObject): ActiveToken {
    const { issuer, audiences, clockSkewMs } = this.#server;
    const { active: _, ...claims } = response;
    const { iss = issuer, token_type: type, token_use: use } = claims;
    if (iss !== issuer) throw new TokenError("token issuer is not accepted");
    // Servers also call refresh tokens active.
    const isAccessToken =
      (type === undefined || isTokenType(type, ["bearer", "dpop"])) &&
      (use === undefined || isTokenType(use, ["access_token"]));
    if (!isAccessToken) {
      throw new TokenError("token type is not an access token");
    }
    const rules = { audiences, clockSkewMs, mayLackExpiry: true } as const;
    const expiresAt = checkClaims(claims, rules, this.#clock.now());
    return { claims: { ...claims, iss: issuer }, expiresAt };
  }
}

function isJwt({ headers }: Response): boolean {
  return /^application\/token-introspection\+jwt(?:;|$)/i
    .test(headers.get("content-type") ?? "");
}

function isTokenType(value: unknown, types: readonly string[]): boolean {
  return typeof value === "string" && types.includes(value.toLowerCase());
}

function stringsOf(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.every((each) => typeof each === "string")
    ? value
    : undefined;
}
