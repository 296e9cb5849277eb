import { createHash } from "node:crypto";
import type { Idp } from "../../../cli/dev/idp/idp.ts";
import { type IdpAOptions, startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { type Answer, CookieJar, logIn } from "../browser/browser_user.ts";
import { freePort } from "../process/free_port.ts";
import {
  type ProtectedGateway,
  startProtectedGateway,
} from "./protected_gateway.ts";

/** Redirect URI of the client that most tests use. */
export const REDIRECT_URI = "http://127.0.0.1:41999/callback";

/** A client's PKCE verifier and the challenge that goes with it. */
export const VERIFIER = "a-verifier-of-at-least-forty-three-characters-0";
const challenge = createHash("sha256").update(VERIFIER).digest("base64url");

/** A JSON response of an OAuth endpoint. */
export interface OAuthResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** The steps of a login at a gateway in issuer mode `Proxied`, as separate calls. */
export interface LoginSteps {
  /** Prefix of the endpoints. */
  readonly base: string;
  register(
    metadata?: Readonly<Record<string, unknown>>,
  ): Promise<OAuthResponse>;
  /** Registers a client with `REDIRECT_URI` and returns its ID. */
  registerClient(name?: string): Promise<string>;
  /** Returns the URL of an authorization request; omits parameters that are `undefined`. */
  authorizeUrl(
    clientId: string,
    parameters?: Readonly<Record<string, string | undefined>>,
  ): string;
  /** Logs in as a user and returns the code. */
  code(clientId: string, answer?: Answer, jar?: CookieJar): Promise<string>;
  /** Calls the token endpoint; omits parameters that are `undefined`. */
  token(
    parameters: Readonly<Record<string, string | undefined>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<OAuthResponse>;
  /** Redeems a code. */
  redeem(
    clientId: string,
    code: unknown,
    parameters?: Readonly<Record<string, string | undefined>>,
  ): Promise<OAuthResponse>;
  /** Redeems a refresh token. */
  refresh(clientId: string, token: unknown): Promise<OAuthResponse>;
  /** Revokes a refresh token. */
  revoke(clientId: string, token: unknown): Promise<OAuthResponse>;
}

/** A gateway in issuer mode `Proxied`, and the steps of a login at it. */
export interface ProxiedGateway extends LoginSteps, AsyncDisposable {
  readonly gateway: ProtectedGateway;
  readonly idp: Idp;
  /** Requests that reached the provider, such as `POST /oauth/token`. */
  readonly idpRequests: readonly string[];
}

/** Options; every field has a default. */
export interface ProxiedOptions {
  /** Audience of the tokens: that of the provider's client, in place of the MCP server's URL. */
  readonly isClientAudience?: boolean;
  /** Additional fields of `jwtAuthentication.mcp`. */
  readonly mcp?: Readonly<Record<string, unknown>>;
  readonly idp?: IdpAOptions;
  /** Providers whose tokens are accepted, besides that of the logins. */
  readonly otherProviders?: readonly unknown[];
  /** Port of the gateway. */
  readonly port?: number;
  /** The `config` section. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Additional Kubernetes resources. */
  readonly resources?: readonly unknown[];
}

/** Starts provider, MCP server and gateway. */
export async function startProxiedGateway(
  {
    mcp = {},
    idp: idpOptions = {},
    port = freePort(),
    config = {},
    resources = [],
    isClientAudience = false,
    otherProviders = [],
  }: ProxiedOptions = {},
): Promise<ProxiedGateway> {
  const steps = loginSteps(`http://127.0.0.1:${port}/mcp`);
  const idpRequests: string[] = [];
  const idp = await startIdpA({
    registration: false,
    redirectUris: [`${steps.base}/callback`],
    onRequest: (line) => idpRequests.push(line),
    ...idpOptions,
  });
  const gateway = await startProtectedGateway(idp, {
    port,
    config,
    resources,
    otherProviders,
    provider: "IdpA",
    ...(isClientAudience && { audience: idp.clientId }),
    mcp: {
      issuerMode: "Proxied",
      clientId: idp.clientId,
      scopes: ["offline_access", "openid"],
      ...mcp,
    },
  });
  return {
    ...steps,
    gateway,
    idp,
    idpRequests,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

/** Returns the steps of a login for the MCP server with a URL. */
export function loginSteps(url: string): LoginSteps {
  const { origin, pathname } = new URL(url);
  const base = `${origin}/.well-known/oauth-authorization-server${pathname}`;
  async function post(
    endpoint: string,
    body: BodyInit,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<OAuthResponse> {
    const response = await fetch(`${base}/${endpoint}`, {
      method: "POST",
      body,
      // Of several workers, each request may reach another one.
      headers: { connection: "close", ...headers },
    });
    const { status, headers: received } = response;
    return { status, headers: received, body: await response.json() };
  }
  const register: LoginSteps["register"] = (metadata = {}) =>
    post(
      "register",
      JSON.stringify({ redirect_uris: [REDIRECT_URI], ...metadata }),
      { "content-type": "application/json" },
    );
  const token: LoginSteps["token"] = (parameters, headers) =>
    post("token", defined(parameters), headers);
  const authorizeUrl: LoginSteps["authorizeUrl"] = (
    clientId,
    parameters = {},
  ) =>
    `${base}/authorize?${
      defined({
        response_type: "code",
        client_id: clientId,
        redirect_uri: REDIRECT_URI,
        state: "client-state",
        code_challenge: challenge,
        code_challenge_method: "S256",
        resource: url,
        ...parameters,
      })
    }`;
  return {
    base,
    register,
    async registerClient(name = "Test client") {
      const { body } = await register({ client_name: name });
      return String(body.client_id);
    },
    authorizeUrl,
    async code(clientId, answer, jar) {
      const callback = await logIn(authorizeUrl(clientId), answer, jar);
      return callback.searchParams.get("code") ?? callback.search;
    },
    token,
    redeem: (clientId, code, parameters = {}) =>
      token({
        grant_type: "authorization_code",
        client_id: clientId,
        code: String(code),
        redirect_uri: REDIRECT_URI,
        code_verifier: VERIFIER,
        ...parameters,
      }),
    refresh: (clientId, refreshToken) =>
      token({
        grant_type: "refresh_token",
        client_id: clientId,
        refresh_token: String(refreshToken),
      }),
    revoke: (clientId, refreshToken) =>
      post(
        "revoke",
        defined({ client_id: clientId, token: String(refreshToken) }),
      ),
  };
}

function defined(
  parameters: Readonly<Record<string, string | undefined>>,
): URLSearchParams {
  return new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]]
    ),
  );
}
