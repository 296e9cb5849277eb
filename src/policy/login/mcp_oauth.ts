import { servicesIn } from "../contract/policy_services.ts";
import { loginServices } from "./login_services.ts";
import type { JwtAuthentication } from "./schema/jwt_schema.ts";
import { describeError } from "../../base/errors.ts";
import {
  addressOfUrl,
  describeAddress,
  type DocumentAddress,
  type DocumentServer,
  fetchDocument,
} from "../../identity/documents/document_client.ts";
import {
  appendedMetadataUrl,
  insertedMetadataUrl,
} from "../../identity/providers/provider_urls.ts";
import type { ProviderAdapter } from "../../identity/providers/provider.ts";
import { adapterOf } from "../../identity/providers/adapters.ts";
import { DocumentUnavailableError } from "../../identity/documents/remote_document.ts";
import type { RemoteMetadata } from "../../identity/documents/remote_metadata.ts";
import { OAuthError } from "../../identity/oauth/protocol/oauth_error.ts";
import { compareValues, showValues } from "../../base/log/log_text.ts";
import {
  type AccessGrant,
  isOwnToken,
} from "../../identity/oauth/grants/access_token.ts";
import { TokenError } from "../../identity/tokens/token.ts";
import { pathOf } from "../../route/normalize_target.ts";
import {
  adaptServerMetadata,
  protectedResourceMetadata,
} from "./endpoints/mcp_metadata.ts";
import {
  publicJson,
  publicPreflight,
  rejectPublicly,
} from "./endpoints/mcp_responses.ts";
import { registerClient } from "./endpoints/mcp_registration.ts";
import {
  findEndpoint,
  type McpEndpoint,
  notFound,
} from "./endpoints/mcp_endpoint.ts";
import type {
  PolicyContext,
  PolicyOutcome,
  ReadableBy,
} from "../contract/policy.ts";
import { type LoginProvider, McpLogin } from "./mcp_login.ts";
import { waitFor } from "../contract/policy_trace.ts";
import { removeLoginCookies } from "../../identity/oauth/endpoints/login_session.ts";
import { issuerModeOf } from "./login_provider.ts";
import { ProviderRegistration } from "./endpoints/registration_turns.ts";
import type { ProtectedResource } from "../authentication/request_identity.ts";
import {
  clientOrigin,
  pathOfResource,
  resourceMetadataUrl,
} from "./endpoints/client_origin.ts";

type McpConfig = NonNullable<JwtAuthentication["mcp"]>;
type Outcome = PolicyOutcome<"mcp_oauth">;

/** The identity provider behind the endpoints. */
export interface McpProvider extends LoginProvider {
  /** Issuers whose tokens are accepted too. */
  readonly otherIssuers: readonly string[];
  /** Backend with its keys; if it is the issuer's host, the metadata is fetched from it too. */
  readonly server: DocumentServer | undefined;
}

/** The OAuth endpoints of a protected MCP server: metadata of resource and authorization server, and registration. */
export class McpOAuth implements ProtectedResource {
  readonly #config: McpConfig;
  readonly #provider: McpProvider;
  readonly #adapter: ProviderAdapter | undefined;
  readonly #metadata: RemoteMetadata;
  /** True if the gateway is the authorization server for clients. */
  readonly #isIssuer: boolean;
  readonly #configuredOrigin: string | undefined;
  readonly #registration: ProviderRegistration | undefined;
  /** Set in issuer mode `Proxied`. */
  readonly #login: McpLogin | undefined;

  constructor(config: McpConfig, provider: McpProvider) {
    const { issuer, services } = provider;
    const { provider: kind, resourceMetadata: { resource } = {} } = config;
    const adapter = kind === undefined ? undefined : adapterOf(kind);
    this.#config = config;
    this.#provider = provider;
    this.#adapter = adapter;
    const urls = adapter?.metadataUrls(issuer) ??
      [insertedMetadataUrl(issuer), appendedMetadataUrl(issuer)];
    this.#metadata = servicesIn(services, loginServices).identity.metadata(
      urls.map((url) => this.#addressOf(url)),
    );
    const mode = issuerModeOf(config);
    this.#isIssuer = mode !== "Upstream";
    this.#login = mode === "Proxied"
      ? new McpLogin(config, {
        ...provider,
        audienceParameter: adapter ? adapter.audienceParameter : "resource",
        login: adapter?.login,
        metadata: this.#metadata,
        addressOf: (url) => this.#addressOf(url),
      })
      : undefined;
    this.#configuredOrigin = resource && new URL(resource).origin;
    const registrationUrl = adapter?.registrationUrl(issuer);
    this.#registration = registrationUrl === undefined
      ? undefined
      : this.#registrationAt(this.#addressOf(registrationUrl));
  }

  get scopesSupported(): readonly string[] {
    return this.#config.resourceMetadata?.scopesSupported ?? [];
  }

  metadataUrl(context: PolicyContext): string {
    return resourceMetadataUrl(this.originOf(context), pathOfResource(context));
  }

  /** Decides which pages may read the response for an endpoint: pages of a login are for the user, the others for every client. */
  readableBy({ request }: PolicyContext): ReadableBy | undefined {
    const endpoint = findEndpoint(pathOf(request.target));
    if (endpoint === undefined) return undefined;
    return endpoint.kind === "server" && this.#login?.isPage(endpoint.path)
      ? "no page"
      : "every page";
  }

  /** Responds for an endpoint; returns `undefined` when the request is for the MCP server itself, which gets no cookies of logins. */
  respond(context: PolicyContext): Outcome | Promise<Outcome> | undefined {
    const { target, method, headers } = context.request;
    const endpoint = findEndpoint(pathOf(target));
    if (endpoint === undefined) {
      if (this.#login !== undefined) removeLoginCookies(headers);
      return undefined;
    }
    const login = this.#answerLogin(context, endpoint);
    if (login !== undefined) return login;
    const methods = endpoint.kind === "registration" ? "POST" : "GET, HEAD";
    if (method === "OPTIONS") return publicPreflight(`${methods}, OPTIONS`);
    if (endpoint.kind === "unknown") return notFound();
    if (!methods.split(", ").includes(method)) {
      return rejectPublicly("method_not_allowed", `use ${methods}`, {
        headers: { allow: `${methods}, OPTIONS` },
      });
    }
    return this.#serve(endpoint, context);
  }

  /**
   * Opens an access token that the gateway has issued for this MCP server; returns `undefined` for any other token.
   * @throws {TokenError} When it is not valid, or for another server (as all errors, also as a rejection).
   * @throws {DocumentUnavailableError} When its grant cannot be checked.
   */
  openToken(
    token: string,
    context: PolicyContext,
  ): AccessGrant | Promise<AccessGrant> | undefined {
    if (this.#login === undefined || !isOwnToken(token)) return undefined;
    const check = (grant: AccessGrant) => {
      const here = this.originOf(context) + pathOfResource(context);
      if (isWithin(here, grant.resource)) return grant;
      throw new TokenError(
        "token is for another MCP server",
        compareValues(`is for ${showValues([grant.resource])}`, [here]),
      );
    };
    const opened = this.#login.openToken(token);
    return opened instanceof Promise ? opened.then(check) : check(opened);
  }

  #answerLogin(
    context: PolicyContext,
    { kind, path }: McpEndpoint,
  ): Outcome | Promise<Outcome> | undefined {
    if (kind !== "server" && kind !== "registration") return undefined;
    return this.#login?.respond(
      context.request,
      kind === "registration" ? `${path}/register` : path,
      this.originOf(context),
    );
  }

  #serve(
    { kind, path }: McpEndpoint,
    context: PolicyContext,
  ): Outcome | Promise<Outcome> {
    const origin = this.originOf(context);
    const resource = origin + (path === "" ? context.resourcePath ?? "" : path);
    const { issuer, otherIssuers } = this.#provider;
    switch (kind) {
      case "resource":
        return publicJson(
          protectedResourceMetadata(
            resource,
            this.#isIssuer ? [resource] : [issuer, ...otherIssuers],
            this.#config.resourceMetadata ?? {},
          ),
        );
      case "server":
        return this.#serverMetadata(origin, resource, path, context);
      default:
        return this.#register(context);
    }
  }

  async #serverMetadata(
    origin: string,
    resource: string,
    path: string,
    { trace }: PolicyContext,
  ): Promise<Outcome> {
    try {
      const whom = `metadata of ${this.#provider.issuer}`;
      if (this.#login !== undefined) {
        const own = this.#login.metadata(origin, resource.slice(origin.length));
        return publicJson(await waitFor(trace, whom, own));
      }
      const metadata = await waitFor(trace, whom, this.#metadata.get());
      return publicJson(
        adaptServerMetadata(metadata, {
          adapter: this.#adapter,
          provider: this.#provider,
          issuer: this.#isIssuer ? resource : undefined,
          registrationUrl: this.#registersHere()
            ? `${origin}/.well-known/oauth-authorization-server${path}/client-registration`
            : undefined,
        }),
      );
    } catch (error) {
      if (error instanceof OAuthError) {
        const { detail, description, retryAfter = 5 } = error;
        return rejectWithoutMetadata(detail ?? description, retryAfter);
      }
      if (!(error instanceof DocumentUnavailableError)) throw error;
      return rejectWithoutMetadata(describeError(error), error.retryAfter);
    }
  }

  #registersHere(): boolean {
    const { clientId, registration } = this.#config;
    return this.#adapter?.registersAtGateway === true ||
      (clientId !== undefined && registration === "Gateway");
  }

  #register({ request, trace }: PolicyContext): Promise<Outcome> {
    return registerClient(request.body, {
      clientId: this.#config.clientId,
      clock: this.#provider.services.clock,
      provider: this.#registration,
      cancellation: request.cancellation,
      trace,
    });
  }

  #registrationAt(address: DocumentAddress): ProviderRegistration {
    const { services, services: { clock, egress } } = this.#provider;
    return new ProviderRegistration({
      send: (body, cancellation) =>
        fetchDocument(address, { clock, egress, cancellation, body }),
      turns: servicesIn(services, loginServices).registrations,
      provider: describeAddress(address),
    });
  }

  /** Returns the address of a URL: the key backend, with its CA certificates, if that is the host of the URL. */
  #addressOf(url: string): DocumentAddress {
    const direct = addressOfUrl(url);
    const { connection } = this.#provider.server ?? {};
    if (connection === undefined) return direct;
    const { host, port } = direct.connection;
    // Another port of the same host is another server; an address in place of a name has its own ports.
    const holdsKeys = host === connection.host
      ? port === connection.port
      : host === connection.tls?.hostname;
    return holdsKeys ? { ...direct, connection } : direct;
  }

  /** Returns the origin of the MCP server as clients know it. */
  originOf({ request }: PolicyContext): string {
    return this.#configuredOrigin ??
      clientOrigin(request, this.#provider.services.trustsPeer(request.source));
  }
}

function rejectWithoutMetadata(cause: string, retryAfter: number): Outcome {
  return rejectPublicly(
    "temporarily_unavailable",
    "the metadata of the identity provider is not available",
    { cause, headers: { "retry-after": String(retryAfter) } },
  );
}

/** Reports whether a URL is that of an MCP server, or below it. */
function isWithin(url: string, resource: string): boolean {
  const server = resource.replace(/\/$/, "");
  return url === server || url.startsWith(`${server}/`);
}
