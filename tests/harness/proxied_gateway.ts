import { createHash } from "node:crypto";
import type { Idp } from "../../cli/dev/idp/idp.ts";
import { type IdpAOptions, startIdpA } from "../../cli/dev/mock_idp_a.ts";
import { type Answer, CookieJar, logIn } from "./browser_user.ts";
import { freePort } from "./free_port.ts";
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

/** A gateway in issuer mode `Proxied`, and the steps of a login as separate calls. */
export interface ProxiedGateway extends AsyncDisposable {
  readonly gateway: ProtectedGateway;
  readonly idp: Idp;
  /** Prefix of the endpoints. */
  readonly base: string;
  /** Requests that reached the provider, such as `POST /oauth/token`. */
  readonly idpRequests: readonly string[];
  register(
    metadata?: Readonly<Record<string, unknown>>,
  ): Promise<OAuthResponse>;
  /** Registers a client with `REDIRECT_URI` and returns its ID. */
  registerClient(name?: string): Promise<string>;
  /** URL of an authorization request; parameters that are `undefined` are left out. */
  authorizeUrl(
    clientId: string,
    parameters?: Readonly<Record<string, string | undefined>>,
  ): string;
  /** Logs in as a user and returns the code. */
  code(clientId: string, answer?: Answer, jar?: CookieJar): Promise<string>;
  /** Calls the token endpoint; parameters that are `undefined` are left out. */
  token(
    parameters: Readonly<Record<string, string | undefined>>,
  ): Promise<OAuthResponse>;
  /** Redeems a code. */
  redeem(
    clientId: string,
    code: string,
    parameters?: Readonly<Record<string, string | undefined>>,
  ): Promise<OAuthResponse>;
}

/** Options; every field has a default. */
export interface ProxiedOptions {
  /** Additional fields of `jwtAuthentication.mcp`. */
  readonly mcp?: Readonly<Record<string, unknown>>;
  readonly idp?: IdpAOptions;
  /** Port of the gateway. */
  readonly port?: number;
}

/** Starts provider, MCP server and gateway. */
export async function startProxiedGateway(
  { mcp = {}, idp: idpOptions = {}, port = freePort() }: ProxiedOptions = {},
): Promise<ProxiedGateway> {
  const base =
    `http://127.0.0.1:${port}/.well-known/oauth-authorization-server/mcp`;
  const idpRequests: string[] = [];
  const idp = await startIdpA({
    registration: false,
    redirectUris: [`${base}/callback`],
    onRequest: (line) => idpRequests.push(line),
    ...idpOptions,
  });
  const gateway = await startProtectedGateway(idp, {
    port,
    provider: "IdpA",
    mcp: {
      issuerMode: "Proxied",
      clientId: idp.clientId,
      scopes: ["offline_access", "openid"],
      ...mcp,
    },
  });

  async function post(url: string, body: BodyInit, type?: string) {
    const response = await fetch(url, {
      method: "POST",
      body,
      ...(type && { headers: { "content-type": type } }),
    });
    const { status, headers } = response;
    return { status, headers, body: await response.json() };
  }
  const register = (metadata: Readonly<Record<string, unknown>> = {}) =>
    post(
      `${base}/register`,
      JSON.stringify({ redirect_uris: [REDIRECT_URI], ...metadata }),
      "application/json",
    );
  const token = (parameters: Readonly<Record<string, string | undefined>>) =>
    post(`${base}/token`, defined(parameters));
  function authorizeUrl(
    clientId: string,
    parameters: Readonly<Record<string, string | undefined>> = {},
  ) {
    return `${base}/authorize?${
      defined({
        response_type: "code",
        client_id: clientId,
        redirect_uri: REDIRECT_URI,
        state: "client-state",
        code_challenge: challenge,
        code_challenge_method: "S256",
        resource: gateway.url,
        ...parameters,
      })
    }`;
  }
  return {
    gateway,
    idp,
    base,
    idpRequests,
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
        code,
        redirect_uri: REDIRECT_URI,
        code_verifier: VERIFIER,
        ...parameters,
      }),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
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
