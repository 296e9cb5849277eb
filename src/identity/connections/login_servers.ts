import { type Cancellation, unlessCancelled } from "../../base/cancellation.ts";
import { isJsonObject, parseJson, stringsAt } from "../../base/json.ts";
import { setNewest } from "../../base/kept_values.ts";
import { serverMetadataUrls } from "../../base/wire/server_metadata_urls.ts";
import {
  loadOAuthLibrary,
  type ServerMetadata,
} from "../backend_tokens/oauth_library.ts";
import {
  PROOF_ALGORITHM,
  type ProofKey,
  wantsProof,
} from "../backend_tokens/proof_key.ts";
import {
  type ServerRequestOptions,
  ServerRequests,
} from "../backend_tokens/server_requests.ts";
import { parameterOf, parseChallenges } from "../../http/challenges.ts";
import { guardedAddress } from "../documents/guarded_address.ts";
import type { UserLogin } from "../backend_tokens/backend_credentials.ts";

/** The authorization server of a backend. */
export interface LoginServer {
  readonly metadata: ServerMetadata;
  /** `resource` of requests. */
  readonly resource: string;
  /** Scopes that the service lists. */
  readonly scopes: readonly string[];
  /** Tokens have to be bound to a key of the gateway (DPoP, RFC 9449). */
  readonly needsProof: boolean;
}

/** Dependencies of the authorization servers of backends. */
export interface LoginServersOptions extends ServerRequestOptions {
  /** Resolves a hostname to addresses; with the operating system by default. */
  readonly resolve?:
    | ((hostname: string) => Promise<readonly string[]>)
    | undefined;
}

/** A server of which the metadata do not say what is needed. */
export class LoginServerError extends Error {
  override readonly name = "LoginServerError";
}

interface KnownMetadata {
  readonly metadata: Promise<ServerMetadata>;
  readonly staleAt: number;
}

/** Statuses of an MCP server for a GET that it does not support. */
const noPage: ReadonlySet<number> = new Set([400, 404, 405, 406]);
/** A request of MCP that changes nothing. */
const ping = {
  headers: {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
};
const FRESH_MS = 5 * 60_000;
const MAX_KNOWN = 1024;
const MAX_SCOPES = 64;

/**
 * Finds the authorization servers of backends: by the metadata of the service (RFC 9728), those of the server (RFC 8414), or OpenID
 * Connect. Everything that a server names has to be on the public internet, unless it has the host of a URL in the configuration.
 */
export class LoginServers {
  readonly #options: LoginServersOptions;
  readonly #requests: ServerRequests;
  /** By login and issuer. */
  readonly #known = new Map<string, KnownMetadata>();

  constructor(options: LoginServersOptions) {
    this.#options = options;
    this.#requests = new ServerRequests(options);
  }

  /** Finds the server for a new login. @throws {Error} When there is none that can be used. */
  async find(
    login: UserLogin,
    cancellation: Cancellation,
  ): Promise<LoginServer> {
    const { issuer, resource, endpoints } = login;
    const service = issuer === undefined && endpoints === undefined
      ? await this.#describeService(login, cancellation)
      : { resource, scopes: [], issuer: issuer ?? "", wantsProof: false };
    const metadata = await this.metadataOf(
      login,
      service.issuer,
      cancellation,
    );
    const { wantsProof, scopes } = service;
    const needsProof = wantsProof || login.requiresProof === true;
    assertSuitable(metadata, login, needsProof);
    return { metadata, resource: service.resource, scopes, needsProof };
  }

  /** Returns the metadata of an issuer. @throws {Error} When they cannot be fetched, or are those of another one. */
  async metadataOf(
    login: UserLogin,
    issuer: string,
    cancellation: Cancellation,
  ): Promise<ServerMetadata> {
    const { endpoints } = login;
    if (endpoints !== undefined) return withoutMetadata(login, endpoints);
    const key = JSON.stringify([login.backend, login.fingerprint, issuer]);
    const now = this.#options.clock.monotonic();
    const known = this.#known.get(key);
    const { metadata } = known !== undefined && now < known.staleAt
      ? known
      : this.#remember(key, {
        // Others wait for it too, so it goes on when the first of them leaves.
        metadata: this.#fetchMetadata(login, issuer),
        staleAt: now + FRESH_MS,
      });
    return await unlessCancelled(metadata, cancellation);
  }

  #remember(key: string, next: KnownMetadata): KnownMetadata {
    setNewest(this.#known, key, next, MAX_KNOWN);
    next.metadata.catch(() => {
      if (this.#known.get(key) === next) this.#known.delete(key);
    });
    return next;
  }

  /** Returns options for requests of the library. @param proofKey Proves token requests. */
  async requestOptions(
    login: UserLogin,
    cancellation: Cancellation,
    proofKey?: ProofKey,
  ) {
    return this.#requests.options(
      login.resource,
      await loadOAuthLibrary(),
      { ...this.#reach(login, cancellation), proofKey },
    );
  }

  #reach(login: UserLogin, cancellation: Cancellation) {
    const { resource, issuer, endpoints, caCertificates } = login;
    const named = [resource, issuer, endpoints?.token, endpoints?.revocation]
      .flatMap((url) => url === undefined ? [] : [new URL(url).hostname]);
    const isPlain = new URL(resource).protocol === "http:";
    return {
      cancellation,
      lookUp: async (url: string) => {
        if (new URL(url).protocol !== "https:" && !isPlain) {
          throw new LoginServerError("a URL of the metadata is not HTTPS");
        }
        return await guardedAddress(url, {
          ...this.#options,
          caCertificates,
          isTrusted: () => named.includes(new URL(url).hostname),
        });
      },
    };
  }

  async #fetch(
    url: string,
    login: UserLogin,
    cancellation: Cancellation,
  ): Promise<Response> {
    const reach = this.#reach(login, cancellation);
    return await this.#requests.fetch(url, { headers: {} }, reach);
  }

  async #fetchMetadata(
    login: UserLogin,
    issuer: string,
  ): Promise<ServerMetadata> {
    const { cancellation } = this.#options;
    const oauth = await loadOAuthLibrary();
    let failure: unknown;
    for (const url of serverMetadataUrls(new URL(issuer))) {
      try {
        const response = await this.#fetch(url, login, cancellation);
        return await oauth.processDiscoveryResponse(new URL(issuer), response);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** Reads the metadata of a service (RFC 9728); a service without them is its own authorization server (MCP 2025-03-26). */
  async #describeService(login: UserLogin, cancellation: Cancellation) {
    const { resource } = login;
    const { origin, pathname, search } = new URL(resource);
    const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
    const announced = await this.#announced(login, cancellation);
    const urls = announced.url === undefined
      ? new Set([wellKnown + pathname.replace(/\/$/, "") + search, wellKnown])
      : [announced.url];
    for (const url of urls) {
      const response = await this.#fetch(url, login, cancellation);
      if (response.status !== 200) continue;
      const document = parseJson(await response.text());
      if (!isJsonObject(document)) continue;
      const { resource: named } = document;
      if (typeof named !== "string" || !isWithin(resource, named)) {
        throw new LoginServerError(
          "the metadata of the service are those of another one",
        );
      }
      const [issuer] = stringsAt(document, "authorization_servers");
      if (issuer === undefined || !URL.canParse(issuer)) break;
      const found = announced.scopes ?? stringsAt(document, "scopes_supported");
      const scopes = found.slice(0, MAX_SCOPES);
      const wantsProof = announced.wantsProof ||
        document["dpop_bound_access_tokens_required"] === true;
      return { resource: named, issuer, scopes, wantsProof };
    }
    const { scopes = [], wantsProof } = announced;
    return { resource, issuer: origin, scopes, wantsProof };
  }

  /** Returns what the service names in its challenge: the URL of its metadata, scopes, and the scheme. */
  async #announced(login: UserLogin, cancellation: Cancellation) {
    const challenges = parseChallenges(
      await this.#challenge(login, cancellation),
    );
    const url = parameterOf(challenges, "resource_metadata", 2048);
    const scope = parameterOf(challenges, "scope", 1024);
    return {
      url: url !== undefined && URL.canParse(url) ? url : undefined,
      scopes: scope?.split(/ +/),
      wantsProof: wantsProof(challenges),
    };
  }

  /** Returns the challenge of the service to a request without a token; empty without one. */
  async #challenge(
    login: UserLogin,
    cancellation: Cancellation,
  ): Promise<string> {
    const { headers, status } = await this.#fetch(
      login.resource,
      login,
      cancellation,
    );
    const challenge = headers.get("www-authenticate");
    if (challenge !== null || !noPage.has(status)) return challenge ?? "";
    // MCP servers without event streams have nothing to get.
    const reach = this.#reach(login, cancellation);
    const posted = await this.#requests.fetch(login.resource, ping, reach);
    return posted.headers.get("www-authenticate") ?? "";
  }
}

/** @throws {LoginServerError} When users cannot log in at a server safely. */
function assertSuitable(
  { authorization_endpoint: url = "", token_endpoint, ...more }: ServerMetadata,
  { resource, endpoints }: UserLogin,
  needsProof: boolean,
): void {
  const isPlain = new URL(resource).protocol === "http:";
  const protocol = URL.parse(url)?.protocol;
  const isSafe = protocol === "https:" || isPlain && protocol === "http:";
  const { code_challenge_methods_supported: methods = [] } = more;
  const { dpop_signing_alg_values_supported: algorithms = [] } = more;
  const problem = !isSafe
    ? "has no authorization endpoint over HTTPS"
    : token_endpoint === undefined
    ? "has no token endpoint"
    : endpoints === undefined && !methods.includes("S256")
    ? "does not support PKCE with S256"
    : endpoints === undefined && needsProof &&
        !algorithms.includes(PROOF_ALGORITHM)
    ? `does not support DPoP with ${PROOF_ALGORITHM}`
    : undefined;
  if (problem === undefined) return;
  throw new LoginServerError(`the authorization server ${problem}`);
}

function withoutMetadata(
  { issuer }: UserLogin,
  { authorization, token, revocation }: NonNullable<UserLogin["endpoints"]>,
): ServerMetadata {
  return {
    issuer: issuer ?? new URL(authorization).origin,
    authorization_endpoint: authorization,
    token_endpoint: token,
    ...(revocation !== undefined && { revocation_endpoint: revocation }),
  };
}

/** Reports whether a service is the one of metadata, or below it. */
function isWithin(service: string, named: string): boolean {
  const own = URL.parse(service);
  const other = URL.parse(named);
  if (own === null || other === null || own.origin !== other.origin) {
    return false;
  }
  const base = other.pathname.replace(/\/$/, "");
  return own.pathname === base || own.pathname.startsWith(`${base}/`);
}
