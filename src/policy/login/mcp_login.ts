import {
  type PolicyServices,
  servicesIn,
} from "../contract/policy_services.ts";
import { loginServices } from "./login_services.ts";
import type { JwtAuthentication } from "./schema/jwt_schema.ts";
import type { JsonObject } from "../../base/json.ts";
import type { RequestMessage } from "../../http/message.ts";
import type { DocumentAddress } from "../../identity/documents/document_client.ts";
import type { RemoteMetadata } from "../../identity/documents/remote_metadata.ts";
import type { ProviderAdapter } from "../../identity/providers/provider.ts";
import {
  AuthorizationServer,
  isLoginPage,
  isOAuthEndpoint,
  type OAuthEndpoint,
  oauthEndpoints,
} from "../../identity/oauth/authorization_server.ts";
import type { ServerUrls } from "../../identity/oauth/endpoints/authorization_services.ts";
import {
  allClients,
  ClientRules,
} from "../../identity/oauth/clients/client_rules.ts";
import { ClientDocuments } from "../../identity/oauth/clients/client_documents.ts";
import {
  storeUnavailable,
  withClientErrors,
} from "../../identity/oauth/grants/grant_store.ts";
import { OAuthError } from "../../identity/oauth/protocol/oauth_error.ts";
import {
  jsonErrorReply,
  type OAuthReply,
  pageErrorReply,
} from "../../identity/oauth/protocol/oauth_reply.ts";
import {
  type AccessGrant,
  AccessTokens,
  GrantUnavailableError,
} from "../../identity/oauth/grants/access_token.ts";
import type { ConfiguredClient } from "../../identity/oauth/clients/token_clients.ts";
import type { AssertionIssuer } from "../../identity/oauth/endpoints/machine_tokens.ts";
import { fingerprintOf } from "../../identity/oauth/clients/oauth_client.ts";
import type { VaultKeys } from "../../identity/vault/vault_seal.ts";
import { TokenError } from "../../identity/tokens/token.ts";
import { ProviderClient } from "../../identity/oauth/provider/provider_client.ts";
import { Seal } from "../../identity/oauth/protocol/seal.ts";
import { clientAddress } from "./endpoints/client_origin.ts";
import type { PolicyOutcome } from "../contract/policy.ts";
import { Rejection } from "../contract/rejection.ts";
import { publicPreflight, rejectPublicly } from "./endpoints/mcp_responses.ts";

type McpConfig = NonNullable<JwtAuthentication["mcp"]>;
type Outcome = PolicyOutcome<"mcp_oauth">;

/** Secrets of the configuration, including those read from files. */
export interface LoginSecrets {
  /** Secret of the gateway's client at the provider. */
  readonly clientSecret: string | undefined;
  /** Secrets that seal logins, the current one first; if empty, the process or its store generates one. */
  readonly stateSecrets: readonly string[];
}

/** Dependencies of `McpLogin`. */
export interface McpLoginOptions extends LoginProvider {
  readonly audienceParameter: ProviderAdapter["audienceParameter"];
  readonly login: ProviderAdapter["login"];
  readonly metadata: RemoteMetadata;
  addressOf(url: string): DocumentAddress;
}

/** The identity provider at which users log in, and the tokens that the gateway accepts. */
export interface LoginProvider {
  readonly issuer: string;
  /** The first of the audiences. */
  readonly audience: string | undefined;
  readonly services: PolicyServices;
  /** For issuer mode `Proxied`. */
  readonly secrets: LoginSecrets;
  /** Reads the tokens of the provider. */
  readonly tokens: ProviderVerifier;
  readonly machines: MachineAccess;
}

/** Clients and identity providers of the configuration, for tokens without a login at the gateway. */
export interface MachineAccess {
  readonly configured: readonly ConfiguredClient[];
  readonly issuers: readonly AssertionIssuer[];
}

/** Verifies the tokens of the provider. */
export interface ProviderVerifier {
  /** The provider is asked about opaque access tokens. */
  readonly introspects: boolean;
  /** See `TokenVerifier.verify`. */
  verify(token: string): JsonObject | Promise<JsonObject>;
}

/** An endpoint of the authorization server and the path of its MCP server, such as `token` and `/mcp`. */
interface LoginPath {
  readonly endpoint: OAuthEndpoint;
  readonly path: string;
}

/** Serves the authorization server endpoints of an MCP server in issuer mode `Proxied`. */
export class McpLogin {
  readonly #config: McpConfig;
  readonly #options: McpLoginOptions;
  readonly #provider: ProviderClient;
  readonly #documents: ClientDocuments;
  #server: Promise<AuthorizationServer> | undefined;
  #tokens: AccessTokens | undefined;
  /** Fingerprints of the clients of the configuration. */
  readonly #configured: ReadonlySet<string>;

  constructor(config: McpConfig, options: McpLoginOptions) {
    const { issuer, audience, audienceParameter, secrets, services } = options;
    const { metadata, addressOf, login } = options;
    const { clock, egress } = services;
    this.#config = config;
    this.#options = options;
    this.#configured = new Set(
      options.machines.configured.map(({ id }) => fingerprintOf(id)),
    );
    this.#provider = new ProviderClient({
      issuer,
      clientId: config.clientId ?? "",
      clientSecret: secrets.clientSecret,
      scopes: [...login?.scopes ?? [], ...config.scopes ?? []],
      token: login?.token ??
        (options.tokens.introspects ? "access_token" : "readable"),
      loginParameters: login?.parameters ?? {},
      parameters: audienceParameter === undefined || audience === undefined
        ? {}
        : { [audienceParameter]: audience },
      metadata,
      addressOf,
      clock,
      egress,
    });
    if (secrets.stateSecrets.length === 0) {
      servicesIn(services, loginServices).logins.warnOfLoss();
    }
    this.#documents = new ClientDocuments({
      clock,
      egress,
      trustedHosts: config.clientMetadataHosts ?? [],
    });
  }

  /** Responds for an endpoint below `/.well-known/oauth-authorization-server`; returns `undefined` for the metadata itself. */
  respond(
    request: RequestMessage,
    path: string,
    origin: string,
  ): Outcome | Promise<Outcome> | undefined {
    const login = readLoginPath(path);
    if (login === undefined) return undefined;
    const method = oauthEndpoints[login.endpoint];
    const allow = isLoginPage(login.endpoint) ? method : `${method}, OPTIONS`;
    if (request.method === "OPTIONS" && allow !== method) {
      return publicPreflight(allow);
    }
    if (request.method !== method) {
      return rejectPublicly("method_not_allowed", `use ${method}`, {
        headers: { allow },
      });
    }
    return this.#serve(login, request, origin);
  }

  /** Reports whether a path below `/.well-known/oauth-authorization-server` is a page of the login, for the user alone. */
  isPage(path: string): boolean {
    const login = readLoginPath(path);
    return login !== undefined && isLoginPage(login.endpoint);
  }

  /** Returns the metadata of the authorization server. @throws {OAuthError} */
  async metadata(origin: string, path: string): Promise<JsonObject> {
    const server = await this.#start();
    return await server.metadata(
      urlsOf(origin, path),
      this.#config.resourceMetadata?.scopesSupported,
    );
  }

  /** Opens an access token of the gateway. @throws {TokenError | DocumentUnavailableError} As `AccessTokens.open`. */
  openToken(token: string): AccessGrant | Promise<AccessGrant> {
    const opened = this.#tokens?.open(token);
    if (opened === undefined) return this.#openLater(token);
    return opened instanceof Promise
      ? opened.then((grant) => this.#current(grant))
      : this.#current(opened);
  }

  /** Returns a grant whose client and identity provider are still in the configuration. @throws {TokenError} */
  #current(grant: AccessGrant): AccessGrant {
    const { subject, client, resource } = grant;
    if ("token" in subject) return grant;
    const { iss } = subject.claims;
    const { issuers } = this.#options.machines;
    const isCurrent = iss === resource
      ? this.#configured.has(client)
      : issuers.some(({ issuer }) => issuer === iss);
    if (isCurrent) return grant;
    throw new TokenError("token is of a client that may not log in any more");
  }

  async #openLater(token: string): Promise<AccessGrant> {
    try {
      await this.#start();
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      throw new GrantUnavailableError(error.message, error.retryAfter ?? 2);
    }
    return await this.openToken(token);
  }

  async #serve(
    { endpoint, path }: LoginPath,
    request: RequestMessage,
    origin: string,
  ): Promise<Outcome> {
    try {
      const server = await this.#start();
      const { trustsPeer } = this.#options.services;
      return outcomeOf(
        await server.serve(endpoint, request, {
          urls: urlsOf(origin, path),
          address: clientAddress(request, trustsPeer),
        }),
      );
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      return outcomeOf(
        isLoginPage(endpoint) ? pageErrorReply(error) : jsonErrorReply(error),
      );
    }
  }

  /** Starts the server for the first request that needs it, since the secret may come from a store. */
  #start(): Promise<AuthorizationServer> {
    if (this.#server !== undefined) return this.#server;
    const starting = this.#create();
    this.#server = starting;
    starting.catch(() => this.#server = undefined);
    return starting;
  }

  async #create(): Promise<AuthorizationServer> {
    const { secrets, services } = this.#options;
    const { clock } = services;
    const { logins } = servicesIn(services, loginServices);
    const [current, ...older] = secrets.stateSecrets;
    const keys: VaultKeys = [
      current ?? await logins.secret().catch(storeUnavailable),
      ...older,
    ];
    const seal = new Seal(keys);
    const grants = withClientErrors(logins.grants);
    const tokens = new AccessTokens({ seal, grants, clock });
    this.#tokens = tokens;
    return new AuthorizationServer({
      seal,
      provider: this.#provider,
      grants,
      keys,
      records: logins.records,
      tokens,
      verify: (token) => this.#options.tokens.verify(token),
      documents: this.#documents,
      ...this.#options.machines,
      proofs: logins.proofs,
      rules: new ClientRules({ ...allClients, ...this.#config.clients }),
      clock,
    });
  }
}

function outcomeOf({ response, problem }: OAuthReply): Outcome {
  return problem === undefined
    ? response
    : new Rejection("mcp_oauth", problem, response);
}

function urlsOf(origin: string, path: string): ServerUrls {
  return {
    origin,
    issuer: origin + path,
    base: `${origin}/.well-known/oauth-authorization-server${path}`,
  };
}

/** Splits `/mcp/token` into the endpoint `token` and the path `/mcp`. */
function readLoginPath(path: string): LoginPath | undefined {
  const at = path.lastIndexOf("/");
  const name = path.slice(at + 1);
  return isOAuthEndpoint(name)
    ? { endpoint: name, path: path.slice(0, at) }
    : undefined;
}
