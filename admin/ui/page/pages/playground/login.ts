/** Logs in to a protected MCP server as its clients do: OAuth 2.1 with PKCE. */
import { serverMetadataUrls } from "../../../../../src/base/wire/server_metadata_urls.ts";
import { type RelayRequest, type Sender, textOf } from "./relay.ts";

/** Name of the channel on which the tab of the login reports its outcome. */
const LOGIN_CHANNEL = "gateway-login";

/** A login that the user has to go on with at the authorization server; plain data, which survives a navigation. */
export interface PendingLogin {
  /** Page of the authorization server. */
  readonly url: string;
  readonly state: string;
  readonly issuer: string;
  /** The redirect has `iss` (RFC 9207). */
  readonly sendsIssuer: boolean;
  readonly tokenEndpoint: string;
  /** Fields of the token request besides the code. */
  readonly form: Readonly<Record<string, string>>;
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
  readonly authorization_response_iss_parameter_supported?: boolean;
}

/** Takes the steps of a login before and after the user is at the authorization server. */
export class OAuthClient {
  readonly #target: Pick<RelayRequest, "port" | "url">;
  readonly #sender: Sender;

  /** @param target The MCP server. */
  constructor(target: Pick<RelayRequest, "port" | "url">, sender: Sender) {
    this.#target = target;
    this.#sender = sender;
  }

  /**
   * Prepares a login.
   * @param challenge `WWW-Authenticate` of the 401.
   * @param clientId Empty to register a client.
   * @param more Parameters for the authorization server.
   */
  async prepare(
    challenge: string,
    clientId: string,
    more: Readonly<Record<string, string>> = {},
  ): Promise<PendingLogin> {
    const { resource, authorization_servers: [issuer], scopes_supported } =
      await this.#readResource(challenge);
    if (issuer === undefined) {
      throw new Error(
        "the metadata of the MCP server names no authorization server",
      );
    }
    const metadata = await this.#readMetadata(issuer);
    const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
    const state = base64url(crypto.getRandomValues(new Uint8Array(16)));
    const common = {
      client_id: clientId || await this.#register(metadata),
      redirect_uri: redirectUri(),
      resource,
    };
    const scope = /scope="([^"]*)"/.exec(challenge)?.[1] ??
      scopes_supported?.join(" ");
    const query = {
      ...{ ...common, ...more, state },
      response_type: "code",
      code_challenge_method: "S256",
      code_challenge: await digest(verifier),
      ...(scope ? { scope } : {}),
    };
    // The endpoint may have a query: `audience` at IdpA.
    const url = new URL(metadata.authorization_endpoint);
    for (const [name, value] of Object.entries(query)) {
      url.searchParams.set(name, value);
    }
    return {
      url: url.href,
      state,
      issuer: metadata.issuer,
      sendsIssuer:
        metadata.authorization_response_iss_parameter_supported === true,
      tokenEndpoint: metadata.token_endpoint,
      form: { ...common, code_verifier: verifier },
    };
  }

  /** Returns the access token. @param code Of `readCallback`. */
  async redeem(
    { tokenEndpoint, form }: PendingLogin,
    code: string,
  ): Promise<string> {
    const body = { grant_type: "authorization_code", ...form, code };
    const { access_token } = await this.#json<
      { readonly access_token: string }
    >("token", tokenEndpoint, {
      "content-type": "application/x-www-form-urlencoded",
      body: new URLSearchParams(body).toString(),
    });
    return access_token;
  }

  async #readResource(challenge: string): Promise<Resource> {
    const { origin, pathname } = new URL(this.#target.url);
    const named = /resource_metadata="([^"]+)"/.exec(challenge)?.[1];
    const url = named ??
      `${origin}/.well-known/oauth-protected-resource${pathname}`;
    return await this.#json<Resource>("resource metadata", url);
  }

  /** Reads the metadata at the locations and in the order that MCP specifies. */
  async #readMetadata(issuer: string): Promise<Metadata> {
    let problem: unknown;
    for (const url of serverMetadataUrls(new URL(issuer))) {
      try {
        return await this.#json<Metadata>("server metadata", url);
      } catch (error) {
        problem ??= error;
      }
    }
    throw problem;
  }

  async #register({ registration_endpoint: url }: Metadata): Promise<string> {
    if (url === undefined) {
      throw new Error(
        "the authorization server registers no clients: enter the ID of a client that it knows",
      );
    }
    const isLocal = /^(localhost|127\.|\[::1\])/.test(location.hostname);
    const { client_id } = await this.#json<{ readonly client_id: string }>(
      "register client",
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

  /** Posts `content`, or gets the document without. */
  async #json<T>(
    title: string,
    url: string,
    content?: { readonly "content-type": string; readonly body: string },
  ): Promise<T> {
    const isOwn = new URL(url).host === new URL(this.#target.url).host;
    const response = await this.#sender.send(title, {
      port: isOwn ? this.#target.port : undefined,
      url,
      method: content === undefined ? "GET" : "POST",
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

/** Returns the code of a login in another tab, when that is back. */
export function waitForCode(
  pending: PendingLogin,
  signal: AbortSignal,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const channel = new BroadcastChannel(LOGIN_CHANNEL);
  channel.onmessage = ({ data }) => {
    const query = new URLSearchParams(String(data));
    // Of another login.
    if (query.get("state") !== pending.state) return;
    try {
      resolve(readCallback(pending, query));
    } catch (error) {
      reject(error);
    }
  };
  signal.addEventListener("abort", () => reject(signal.reason));
  return promise.finally(() => channel.close());
}

/** Returns the code in the query of a redirect. @throws {Error} When it is the response to another login, or reports an error. */
export function readCallback(
  { state, issuer, sendsIssuer }: PendingLogin,
  query: URLSearchParams,
): string {
  if (query.get("state") !== state) {
    throw new Error("this is not the response to the login that began here");
  }
  const from = query.get("iss");
  if (from === null ? sendsIssuer : from !== issuer) {
    // RFC 9207: the code belongs to another server.
    throw new Error(`the login came from ${from}, expected ${issuer}`);
  }
  const code = query.get("code");
  if (code !== null) return code;
  const reason = [query.get("error"), query.get("error_description")];
  throw new Error(
    `the login failed: ${reason.filter(Boolean).join(": ") || "no code"}`,
  );
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
