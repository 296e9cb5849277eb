import type { Cancellation } from "../../base/cancellation.ts";
import { type JsonObject, parseJson } from "../../base/json.ts";
import type { RequestMessage } from "../../http/message.ts";
import { ClientCounts } from "../../http/server/contract/client_counts.ts";
import { readText } from "../documents/document_client.ts";
import type {
  AuthorizationServices,
  ServerUrls,
} from "./endpoints/authorization_services.ts";
import {
  type ClientDocuments,
  isDocumentUrl,
} from "./clients/client_documents.ts";
import { LoginEndpoints } from "./endpoints/login_endpoints.ts";
import {
  type OAuthClient,
  openOAuthClient,
  registerOAuthClient,
} from "./clients/oauth_client.ts";
import { OAuthError } from "./protocol/oauth_error.ts";
import {
  type OAuthParameters,
  readOAuthParameters,
} from "./protocol/oauth_parameters.ts";
import {
  jsonErrorReply,
  jsonReply,
  type OAuthReply,
  pageErrorReply,
} from "./protocol/oauth_reply.ts";
import { signatureAlgorithms } from "../keys/public_key.ts";
import { ClientKeys } from "./clients/client_keys.ts";
import {
  type ConfiguredClient,
  TokenClients,
} from "./clients/token_clients.ts";
import {
  type AssertionIssuer,
  MachineTokens,
} from "./endpoints/machine_tokens.ts";
import type { ProofStore } from "./grants/proof_store.ts";
import {
  JWT_BEARER,
  TokenEndpoints,
  type TokenRequest,
} from "./endpoints/token_endpoints.ts";

/** Endpoints by the last part of their path. */
export const oauthEndpoints = {
  authorize: "GET",
  consent: "POST",
  callback: "GET",
  token: "POST",
  register: "POST",
  revoke: "POST",
} as const;

/** An endpoint of the authorization server. */
export type OAuthEndpoint = keyof typeof oauthEndpoints;

/** Returns whether an endpoint has this name. */
export function isOAuthEndpoint(name: string): name is OAuthEndpoint {
  return Object.hasOwn(oauthEndpoints, name);
}

/** Reports whether the browser of the user visits an endpoint; clients call the others. */
export function isLoginPage(endpoint: OAuthEndpoint): boolean {
  return ["authorize", "consent", "callback"].includes(endpoint);
}

/** Dependencies of the authorization server. */
export interface AuthorizationServerOptions
  extends Omit<AuthorizationServices, "findClient" | "clients" | "machines"> {
  readonly documents: ClientDocuments;
  /** Clients of the configuration. */
  readonly configured: readonly ConfiguredClient[];
  /** Identity providers whose assertions about users are accepted. */
  readonly issuers: readonly AssertionIssuer[];
  /** Assertions that were used. */
  readonly proofs: ProofStore;
}

/** Profile of assertions about users (draft-ietf-oauth-identity-assertion-authz-grant). */
const ID_JAG = "urn:ietf:params:oauth:grant-profile:id-jag";
const MAX_FORM_BYTES = 64 * 1024;
/** Half of what the provider gets at a time (`MAX_CALLS`), so that one client cannot lock out the others. */
const MAX_REQUESTS_PER_CLIENT = 16;

/**
 * The authorization server for MCP clients of issuer mode `Proxied`: it accepts any client, and is itself one client of the
 * identity provider.
 *
 * Clients and their browsers keep all state, sealed; `docs/mcp_login.md` describes the steps of a login.
 */
export class AuthorizationServer {
  readonly #options: AuthorizationServerOptions;
  readonly #login: LoginEndpoints;
  readonly #tokens: TokenEndpoints;
  readonly #addresses = new ClientCounts();
  /** Clients that authenticate. */
  readonly #clients: TokenClients;

  constructor(options: AuthorizationServerOptions) {
    this.#options = options;
    const keys = new ClientKeys(options.documents, options.clock);
    this.#clients = new TokenClients({
      ...options,
      findClient: (id, cancellation) => this.#findClient(id, cancellation),
      keysOf: (client) => keys.of(client),
    });
    const services = {
      ...options,
      clients: this.#clients,
      machines: new MachineTokens(options),
      findClient: (id: string, cancellation: Cancellation) =>
        this.#findClient(id, cancellation),
    };
    this.#login = new LoginEndpoints(services);
    this.#tokens = new TokenEndpoints(services);
  }

  /** Responds to a request; the caller has checked its method. */
  async serve(
    endpoint: OAuthEndpoint,
    request: RequestMessage,
    { urls, address }: {
      readonly urls: ServerUrls;
      /** IP address of the client, for the bound per client. */
      readonly address: string;
    },
  ): Promise<OAuthReply> {
    const finished = this.#addresses.add(address);
    try {
      if (this.#addresses.of(address) > MAX_REQUESTS_PER_CLIENT) {
        throw tooManyRequests();
      }
      return await this.#serve(endpoint, request, urls);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      return isLoginPage(endpoint)
        ? pageErrorReply(error)
        : jsonErrorReply(error);
    } finally {
      finished();
    }
  }

  /**
   * Returns the metadata of the authorization server (RFC 8414): its own endpoints, the provider's keys and scopes.
   * @throws {OAuthError} When the provider's metadata is not available.
   */
  async metadata(
    { issuer, base }: ServerUrls,
    scopes: readonly string[] | undefined,
  ): Promise<JsonObject> {
    const provider = await this.#options.provider.metadata();
    const { configured, issuers, rules } = this.#options;
    const { canRegister, canHaveDocument } = rules;
    return {
      issuer,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
      ...(canRegister && { registration_endpoint: `${base}/register` }),
      revocation_endpoint: `${base}/revoke`,
      jwks_uri: provider["jwks_uri"],
      scopes_supported: scopes ?? provider["scopes_supported"],
      response_types_supported: ["code"],
      response_modes_supported: ["query"],
      grant_types_supported: [
        "authorization_code",
        "refresh_token",
        ...(configured.some(({ actsForItself }) => actsForItself)
          ? ["client_credentials"]
          : []),
        ...(issuers.length > 0 ? [JWT_BEARER] : []),
      ],
      ...(issuers.length > 0 && {
        authorization_grant_profiles_supported: [ID_JAG],
      }),
      token_endpoint_auth_methods_supported: this.#clients.methods,
      token_endpoint_auth_signing_alg_values_supported: [
        ...signatureAlgorithms,
      ],
      revocation_endpoint_auth_methods_supported: ["none", "private_key_jwt"],
      revocation_endpoint_auth_signing_alg_values_supported: [
        ...signatureAlgorithms,
      ],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: canHaveDocument,
    };
  }

  async #serve(
    endpoint: OAuthEndpoint,
    request: RequestMessage,
    urls: ServerUrls,
  ): Promise<OAuthReply> {
    switch (endpoint) {
      case "authorize":
        return await this.#login.authorize(request, urls);
      case "callback":
        return await this.#login.callback(request, urls);
      case "consent":
        return await this.#login.consent(
          request,
          urls,
          await readForm(request),
        );
      case "token":
        return await this.#tokens.token(await readTokenRequest(request, urls));
      case "revoke":
        return await this.#tokens.revoke(await readTokenRequest(request, urls));
      case "register": {
        const { seal, clock, rules } = this.#options;
        rules.expectRegistration(request.headers.get("authorization"));
        const metadata = parseJson(await readBody(request));
        const { client, response } = registerOAuthClient(
          metadata,
          seal,
          clock.now(),
        );
        rules.expectRedirectUris(client.redirectUris);
        return jsonReply(201, response);
      }
    }
  }

  async #findClient(
    id: string,
    cancellation: Cancellation,
  ): Promise<OAuthClient> {
    const { rules } = this.#options;
    if (isDocumentUrl(id)) {
      rules.expectDocument(id);
      return await this.#options.documents.find(id, cancellation);
    }
    const client = openOAuthClient(id, this.#options.seal);
    if (client !== undefined) return client;
    throw new OAuthError(
      "invalid_client",
      "client_id is not registered here; register again",
    );
  }
}

async function readTokenRequest(
  request: RequestMessage,
  urls: ServerUrls,
): Promise<TokenRequest> {
  return {
    form: await readForm(request),
    authorization: request.headers.get("authorization"),
    urls,
    cancellation: request.cancellation,
  };
}

function tooManyRequests(): OAuthError {
  return new OAuthError(
    "temporarily_unavailable",
    "too many requests from your address at a time",
    undefined,
    1,
  );
}

/** Reads the form of a POST. @throws {OAuthError} `invalid_request` */
export async function readForm(
  request: RequestMessage,
): Promise<OAuthParameters> {
  const type = request.headers.getAll("content-type").join(",");
  if (
    !/^application\/x-www-form-urlencoded(?:;\s*charset=utf-8)?$/i.test(type)
  ) {
    throw new OAuthError(
      "invalid_request",
      "expected content type application/x-www-form-urlencoded",
    );
  }
  return readOAuthParameters(await readBody(request));
}

async function readBody({ body, headers }: RequestMessage): Promise<string> {
  if (headers.has("content-encoding")) {
    throw new OAuthError("invalid_request", "expected an uncompressed body");
  }
  try {
    return await readText(body, MAX_FORM_BYTES);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new OAuthError(
      "invalid_request",
      `the body is longer than ${MAX_FORM_BYTES} bytes`,
    );
  }
}
