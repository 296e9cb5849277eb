import type { Cancellation } from "../../base/cancellation.ts";
import { setNewest } from "../../base/kept_values.ts";
import type { TokenClient } from "./backend_credentials.ts";
import {
  authenticate,
  type IssuedToken,
  loadOAuthLibrary,
  type OAuthLibrary,
  readIssuedToken,
  type ServerMetadata,
  withNonce,
} from "./oauth_library.ts";
import type { ProofKey } from "./proof_key.ts";
import {
  type ServerRequestOptions,
  ServerRequests,
} from "./server_requests.ts";
import { toTokenError } from "./token_error.ts";

/** A token request. */
export interface TokenRequest {
  readonly grantType: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** An error of the server may be about the caller, and not about the gateway. */
  readonly isOfCaller: boolean;
  /** Requests an assertion, which is no access token and so has the type `N_A` (RFC 8693 section 2.2.1). */
  readonly isAssertion?: true;
  /** Key that the token has to be bound to. */
  readonly proofKey?: ProofKey | undefined;
  /** Aborts the request for the token. */
  readonly cancellation?: Cancellation | undefined;
}

interface KnownServer {
  readonly metadata: Promise<ServerMetadata>;
  /** Monotonic time from which it is fetched again. */
  staleAt: number;
}

const FRESH_MS = 5 * 60_000;
/** Metadata stays in use so long after a failed fetch. */
const RETRY_MS = 30_000;
const MAX_SERVERS = 1024;

/** Requests tokens, and the metadata that names the endpoints. */
export class TokenEndpoints {
  readonly #options: ServerRequestOptions;
  readonly #requests: ServerRequests;
  readonly #servers = new Map<string, KnownServer>();

  constructor(options: ServerRequestOptions) {
    this.#options = options;
    this.#requests = new ServerRequests(options);
  }

  /**
   * Requests a token.
   * @throws {GatewayError} `credentials_unavailable` when the server does not respond as it should, `credentials_rejected` when it
   * rejects the gateway, `caller_rejected` when it rejects the caller.
   */
  async request(
    client: TokenClient,
    request: TokenRequest,
  ): Promise<IssuedToken> {
    const oauth = await loadOAuthLibrary();
    try {
      const server = await this.#serverOf(client, oauth);
      return await withNonce(
        request.proofKey,
        oauth,
        () => this.#send(server, client, request, oauth),
      );
    } catch (error) {
      throw toTokenError(error, client, request.isOfCaller, oauth);
    }
  }

  async #send(
    server: ServerMetadata,
    client: TokenClient,
    request: TokenRequest,
    oauth: OAuthLibrary,
  ): Promise<IssuedToken> {
    const { clientId: client_id } = client;
    const response = await oauth.genericTokenEndpointRequest(
      server,
      { client_id },
      await authenticate(client.authentication, server, oauth),
      request.grantType,
      { ...client.parameters, ...request.parameters },
      this.#requests.options(server.issuer, oauth, {
        ...request,
        caCertificates: client.caCertificates,
      }),
    );
    const issued = await oauth.processGenericTokenEndpointResponse(
      server,
      { client_id },
      response,
      { recognizedTokenTypes: { n_a: () => {} } },
    );
    return readIssuedToken(issued, request);
  }

  async #serverOf(
    { server: { kind, url }, caCertificates }: TokenClient,
    oauth: OAuthLibrary,
  ): Promise<ServerMetadata> {
    if (kind === "tokenEndpoint") return { issuer: url, token_endpoint: url };
    const now = this.#options.clock.monotonic();
    const key = JSON.stringify([url, caCertificates]);
    const known = this.#servers.get(key);
    if (known !== undefined && now < known.staleAt) return await known.metadata;
    const next: KnownServer = {
      staleAt: now + FRESH_MS,
      metadata: this.#discover(url, caCertificates, oauth).catch(
        async (error: unknown) => {
          next.staleAt = this.#options.clock.monotonic() + RETRY_MS;
          if (known !== undefined) return await known.metadata;
          if (this.#servers.get(key) === next) this.#servers.delete(key);
          throw error;
        },
      ),
    };
    setNewest(this.#servers, key, next, MAX_SERVERS);
    return await next.metadata;
  }

  /** Fetches the metadata at the place of RFC 8414, then at that of OpenID Connect. */
  async #discover(
    issuer: string,
    caCertificates: readonly string[] | undefined,
    oauth: OAuthLibrary,
  ): Promise<ServerMetadata> {
    const url = new URL(issuer);
    const fetchFrom = async (algorithm: "oauth2" | "oidc") => {
      const response = await oauth.discoveryRequest(url, {
        ...this.#requests.options(issuer, oauth, { caCertificates }),
        algorithm,
      });
      return await oauth.processDiscoveryResponse(url, response);
    };
    return await fetchFrom("oauth2").catch(() => fetchFrom("oidc"));
  }
}
