/** The only file that imports oauth4webapi: requests to authorization servers. */
import type * as OAuth from "oauth4webapi";
import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { describeError, GatewayError } from "../../base/errors.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import { addressOfUrl, fetchDocument } from "../documents/document_client.ts";
import { importPrivateKey } from "../keys/jose.ts";
import type {
  ClientAuthentication,
  TokenClient,
} from "./backend_credentials.ts";
import { tokenError } from "./token_error.ts";

/** A token that an authorization server has issued. */
export interface IssuedToken {
  readonly token: string;
  /** Lifetime in milliseconds; `undefined` if the server does not say it. */
  readonly lifetimeMs: number | undefined;
  /** URI of its type, of a token exchange. */
  readonly issuedTokenType: string | undefined;
}

/** A token request. */
export interface TokenRequest {
  readonly grantType: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** An error of the server may be about the caller, and not about the gateway. */
  readonly isOfCaller: boolean;
  /** Aborts the request for the token. */
  readonly cancellation?: Cancellation | undefined;
}

/** Dependencies of requests to authorization servers. */
export interface TokenEndpointOptions {
  readonly clock: Clock;
  /** Decides which servers may be asked. */
  readonly egress: EgressPolicy;
  /** Aborts requests when the gateway stops. */
  readonly cancellation: Cancellation;
}

interface KnownServer {
  readonly metadata: Promise<OAuth.AuthorizationServer>;
  /** Monotonic time from which it is fetched again. */
  staleAt: number;
}

const FRESH_MS = 5 * 60_000;
/** Metadata stays in use so long after a failed fetch. */
const RETRY_MS = 30_000;
const MAX_SERVERS = 1024;
/** Longer tokens do not fit into header fields. */
const MAX_TOKEN_LENGTH = 16 * 1024;

/** Requests tokens, and the metadata that names the endpoints. */
export class TokenEndpoints {
  readonly #options: TokenEndpointOptions;
  readonly #servers = new Map<string, KnownServer>();

  constructor(options: TokenEndpointOptions) {
    this.#options = options;
  }

  /**
   * Requests a token.
   * @throws {GatewayError} `credentials_unavailable` when the server does not respond as it should, `credentials_rejected` when it
   * rejects the gateway, `caller_rejected` when it rejects the caller.
   */
  async request(
    client: TokenClient,
    { grantType, parameters, isOfCaller, cancellation }: TokenRequest,
  ): Promise<IssuedToken> {
    const oauth = await loadLibrary();
    try {
      const server = await this.#serverOf(client, oauth);
      const { clientId: client_id } = client;
      const response = await oauth.genericTokenEndpointRequest(
        server,
        { client_id },
        await authenticate(client.authentication, server, oauth),
        grantType,
        { ...client.parameters, ...parameters },
        this.#fetchOptions(server.issuer, oauth, cancellation),
      );
      return readToken(
        await oauth.processGenericTokenEndpointResponse(
          server,
          { client_id },
          response,
        ),
      );
    } catch (error) {
      throw toTokenError(error, client, isOfCaller, oauth);
    }
  }

  async #serverOf(
    { server: { kind, url } }: TokenClient,
    oauth: typeof OAuth,
  ): Promise<OAuth.AuthorizationServer> {
    if (kind === "tokenEndpoint") return { issuer: url, token_endpoint: url };
    const now = this.#options.clock.monotonic();
    const known = this.#servers.get(url);
    if (known !== undefined && now < known.staleAt) return await known.metadata;
    const next: KnownServer = {
      staleAt: now + FRESH_MS,
      metadata: this.#discover(url, oauth).catch(async (error: unknown) => {
        next.staleAt = this.#options.clock.monotonic() + RETRY_MS;
        if (known !== undefined) return await known.metadata;
        if (this.#servers.get(url) === next) this.#servers.delete(url);
        throw error;
      }),
    };
    this.#servers.delete(url);
    this.#servers.set(url, next);
    const oldest = this.#servers.keys().next().value;
    if (this.#servers.size > MAX_SERVERS && oldest !== undefined) {
      this.#servers.delete(oldest);
    }
    return await next.metadata;
  }

  /** Fetches the metadata at the place of RFC 8414, then at that of OpenID Connect. */
  async #discover(
    issuer: string,
    oauth: typeof OAuth,
  ): Promise<OAuth.AuthorizationServer> {
    const url = new URL(issuer);
    const fetchFrom = async (algorithm: "oauth2" | "oidc") => {
      const options = { ...this.#fetchOptions(issuer, oauth), algorithm };
      const response = await oauth.discoveryRequest(url, options);
      return await oauth.processDiscoveryResponse(url, response);
    };
    return await fetchFrom("oauth2").catch(() => fetchFrom("oidc"));
  }

  /** A server that is asked over HTTPS is never asked in plain text, whatever its metadata says. */
  #fetchOptions(
    issuer: string,
    oauth: typeof OAuth,
    cancellation = this.#options.cancellation,
  ) {
    return {
      [oauth.allowInsecureRequests]: new URL(issuer).protocol === "http:",
      [oauth.customFetch]: (
        url: string,
        { body, headers }: {
          readonly body?: URLSearchParams | undefined;
          readonly headers: Readonly<Record<string, string>>;
        },
      ) => this.#fetch(url, headers, body?.toString(), cancellation),
    };
  }

  async #fetch(
    url: string,
    sent: Readonly<Record<string, string>>,
    body: string | undefined,
    cancellation: Cancellation,
  ): Promise<Response> {
    const { "content-type": contentType, authorization } = sent;
    const { status, headers, text } = await fetchDocument(addressOfUrl(url), {
      ...this.#options,
      cancellation,
      authorization,
      ...(body !== undefined && { body }),
      ...(contentType !== undefined && { contentType }),
    });
    return new Response(bodiless.has(status) ? null : text, {
      status,
      headers: [...headers].map(([name, value]): [string, string] => [
        name,
        value,
      ]),
    });
  }
}

const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

let library: Promise<typeof OAuth> | undefined;

/** Loads the library with the first token: many gateways need none. */
function loadLibrary(): Promise<typeof OAuth> {
  return library ??= import("oauth4webapi");
}

async function authenticate(
  authentication: ClientAuthentication,
  server: OAuth.AuthorizationServer,
  oauth: typeof OAuth,
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
        : oauth.ClientSecretBasic(secret);
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

function readToken(response: OAuth.TokenEndpointResponse): IssuedToken {
  const { access_token: token, token_type, expires_in, issued_token_type } =
    response;
  if (token_type !== "bearer") {
    throw new TypeError(`expected a token of type "Bearer"`);
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
  };
}

/** Errors about the user, and not about the client (RFC 6749 section 5.2, RFC 8693 section 2.2.2). */
const callerErrors: ReadonlySet<string> = new Set([
  "access_denied",
  "consent_required",
  "interaction_required",
  "invalid_grant",
  "invalid_request",
  "invalid_target",
]);

/** Descriptions of servers may quote what they got, so that only the code of an error is shown. */
function toTokenError(
  error: unknown,
  client: TokenClient,
  isOfCaller: boolean,
  oauth: typeof OAuth,
): GatewayError {
  if (error instanceof oauth.ResponseBodyError) {
    const code = /^[a-z_]{1,64}$/.test(error.error)
      ? error.error
      : "an unknown error";
    const isOverloaded = error.status >= 500 || error.status === 429;
    return tokenError(
      isOverloaded
        ? "credentials_unavailable"
        : isOfCaller && callerErrors.has(code)
        ? "caller_rejected"
        : "credentials_rejected",
      client,
      `the authorization server responds with ${error.status}, ${code}`,
    );
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    const problem =
      `the authorization server rejects the client "${client.clientId}" with ${error.status}`;
    return tokenError("credentials_rejected", client, problem);
  }
  return tokenError(
    "credentials_unavailable",
    client,
    `the authorization server did not respond as expected: ${
      // Errors of the library have the response as their cause.
      error instanceof GatewayError
        ? describeError(error)
        : error instanceof Error
        ? error.message
        : String(error)}`,
  );
}
