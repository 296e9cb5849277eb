/** Logs in to a protected MCP server as its clients do: OAuth 2.1 with PKCE, in another tab of the browser. */
import type { Exchanges } from "./sent_requests.ts";
import { type Target, textOf } from "./relay.ts";

/** Name of the channel on which the tab of the login reports its outcome. */
export const LOGIN_CHANNEL = "gateway-login";

/** A login that the user has to go on with at the authorization server. */
export interface PendingLogin {
  /** Page of the authorization server. */
  readonly url: string;
  readonly server: string;
  /** Resolves with the access token when the other tab is back. */
  readonly token: Promise<string>;
}

interface Resource {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly scopes_supported?: readonly string[];
}

interface Metadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly registration_endpoint?: string;
}

/** Prepares a login. @param challenge `WWW-Authenticate` of the 401. @param clientId Empty to register a client. */
export async function beginLogin(
  target: Target,
  { challenge, clientId, exchanges, signal }: {
    readonly challenge: string;
    readonly clientId: string;
    readonly exchanges: Exchanges;
    readonly signal: AbortSignal;
  },
): Promise<PendingLogin> {
  const client = new OAuthClient(target, exchanges);
  const resource = await client.readResource(challenge);
  const [issuer] = resource.authorization_servers;
  if (issuer === undefined) {
    throw new Error(
      "the metadata of the MCP server names no authorization server",
    );
  }
  const metadata = await client.readMetadata(issuer);
  const id = clientId || await client.register(metadata);
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  const state = base64url(crypto.getRandomValues(new Uint8Array(16)));
  const url = new URL(metadata.authorization_endpoint);
  const scope = /scope="([^"]*)"/.exec(challenge)?.[1] ??
    resource.scopes_supported?.join(" ");
  const query = {
    response_type: "code",
    client_id: id,
    redirect_uri: redirectUri(),
    state,
    resource: resource.resource,
    code_challenge_method: "S256",
    code_challenge: await digest(verifier),
    ...(scope ? { scope } : {}),
  };
  for (const [name, value] of Object.entries(query)) {
    url.searchParams.set(name, value);
  }
  const redeem = (code: string) =>
    client.redeem(metadata, {
      code,
      client_id: id,
      code_verifier: verifier,
      resource: resource.resource,
    });
  return {
    url: url.href,
    server: url.host,
    token: waitForCode(state, metadata.issuer, signal).then(redeem),
  };
}

class OAuthClient {
  readonly #target: Target;
  readonly #exchanges: Exchanges;

  constructor(target: Target, exchanges: Exchanges) {
    this.#target = target;
    this.#exchanges = exchanges;
  }

  async readResource(challenge: string): Promise<Resource> {
    const { origin, pathname } = new URL(this.#target.url);
    const named = /resource_metadata="([^"]+)"/.exec(challenge)?.[1];
    const url = named ??
      `${origin}/.well-known/oauth-protected-resource${pathname}`;
    return await this.#json<Resource>("resource metadata", "GET", url);
  }

  async readMetadata(issuer: string): Promise<Metadata> {
    const { origin, pathname } = new URL(issuer);
    const path = pathname.replace(/\/$/, "");
    const urls = [
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}${path}/.well-known/openid-configuration`,
    ];
    let problem: unknown;
    for (const url of urls) {
      try {
        return await this.#json<Metadata>("server metadata", "GET", url);
      } catch (error) {
        problem ??= error;
      }
    }
    throw problem;
  }

  async register({ registration_endpoint: url }: Metadata): Promise<string> {
    if (url === undefined) {
      throw new Error(
        "the authorization server registers no clients: enter the ID of a client that it knows",
      );
    }
    const isLocal = /^(localhost|127\.|\[::1\])/.test(location.hostname);
    const { client_id } = await this.#json<{ readonly client_id: string }>(
      "register client",
      "POST",
      url,
      {
        "content-type": "application/json",
        body: JSON.stringify({
          client_name: "Gateway playground",
          redirect_uris: [redirectUri()],
          grant_types: ["authorization_code"],
          response_types: ["code"],
          token_endpoint_auth_method: "none",
          application_type: isLocal ? "native" : "web",
        }),
      },
    );
    return client_id;
  }

  async redeem(
    { token_endpoint: url }: Metadata,
    parameters: Readonly<Record<string, string>>,
  ): Promise<string> {
    const { access_token } = await this.#json<
      { readonly access_token: string }
    >("token", "POST", url, {
      "content-type": "application/x-www-form-urlencoded",
      body: new URLSearchParams({
        grant_type: "authorization_code",
        redirect_uri: redirectUri(),
        ...parameters,
      }).toString(),
    });
    return access_token;
  }

  async #json<T>(
    title: string,
    method: string,
    url: string,
    content?: { readonly "content-type": string; readonly body: string },
  ): Promise<T> {
    const isOwn = new URL(url).host === new URL(this.#target.url).host;
    const response = await this.#exchanges.send(title, {
      port: isOwn ? this.#target.port : undefined,
      url,
      method,
      ...(content && {
        headers: { "content-type": content["content-type"] },
        body: content.body,
      }),
    });
    const text = await textOf(response);
    if (response.status >= 300) {
      throw new Error(`${title}: status ${response.status}: ${text.trim()}`);
    }
    return JSON.parse(text);
  }
}

/** Reports the outcome of a login from its tab to that of the playground. */
export function reportLogin(): void {
  const channel = new BroadcastChannel(LOGIN_CHANNEL);
  channel.postMessage(location.search);
  channel.close();
  // The code is of no use any more, but needs not to be read over the shoulder.
  history.replaceState(null, "", location.pathname);
}

function waitForCode(
  state: string,
  issuer: string,
  signal: AbortSignal,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const channel = new BroadcastChannel(LOGIN_CHANNEL);
  channel.onmessage = ({ data }) => {
    const query = new URLSearchParams(String(data));
    if (query.get("state") !== state) return;
    const code = query.get("code");
    const from = query.get("iss") ?? issuer;
    if (from !== issuer) {
      // RFC 9207: the code belongs to another server.
      const reason = `the login came from ${from}, expected ${issuer}`;
      return reject(new Error(reason));
    }
    const { error, error_description: more } = Object.fromEntries(query);
    if (code !== null) resolve(code);
    else reject(new Error(`the login failed: ${more ?? error ?? "no code"}`));
  };
  signal.addEventListener("abort", () => reject(signal.reason));
  return promise.finally(() => channel.close());
}

function redirectUri(): string {
  return new URL("callback", location.href).href;
}

async function digest(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  return base64url(
    new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)),
  );
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-")
    .replaceAll("/", "_").replaceAll("=", "");
}
