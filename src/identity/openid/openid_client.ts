import type { Cancellation } from "../../base/cancellation.ts";
import { type JsonObject, stringMember } from "../../base/json.ts";
import type { ClientAuthentication } from "../backend_tokens/backend_credentials.ts";
import {
  authenticate,
  loadOAuthLibrary,
  type OAuthLibrary,
  type ServerMetadata,
} from "../backend_tokens/oauth_library.ts";
import {
  type ServerRequestOptions,
  ServerRequests,
} from "../backend_tokens/server_requests.ts";
import { type KeySet, readKeySet } from "../keys/key_set.ts";
import { OAuthError } from "../oauth/protocol/oauth_error.ts";
import { randomText, sha256 } from "../oauth/protocol/seal.ts";
import { EndedError } from "../vault/vault.ts";

/** The client that the gateway is at an OpenID provider. */
export interface OpenIdClientOptions extends ServerRequestOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly authentication: ClientAuthentication;
  /** Scopes besides `openid`. */
  readonly scopes: readonly string[];
  /** Further parameters of authorization requests. */
  readonly parameters?: Readonly<Record<string, string>>;
}

/** Values that bind the response of a provider to the login that was started. */
export interface LoginAttempt {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
}

/** Tokens that a provider has issued for a user. */
export interface OpenIdTokens {
  /** Of the ID token; `undefined` if a renewal has none. */
  readonly claims: JsonObject | undefined;
  readonly idToken: string | undefined;
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** Of the access token, in milliseconds; `undefined` if the provider does not say it. */
  readonly lifetimeMs: number | undefined;
}

/** Time that a user has to log in. */
export const LOGIN_MS = 10 * 60_000;
const FRESH_MS = 5 * 60_000;
/** Keys that are unknown lead to one fetch in this time. */
const NEW_KEYS_MS = 30_000;

/** Logs users in with OpenID Connect: authorization code with PKCE, state and nonce. */
export class OpenIdClient {
  readonly #options: OpenIdClientOptions;
  readonly #requests: ServerRequests;
  #metadata: Known<ServerMetadata> | undefined;
  #keys: Known<KeySet> | undefined;

  constructor(options: OpenIdClientOptions) {
    this.#options = options;
    this.#requests = new ServerRequests(options);
  }

  get issuer(): string {
    return this.#options.issuer;
  }

  get clientId(): string {
    return this.#options.clientId;
  }

  /** Starts a login. @throws {OAuthError} When the provider is not available. */
  async start(
    redirectUri: string,
    cancellation: Cancellation,
  ): Promise<{ readonly location: string; readonly attempt: LoginAttempt }> {
    const { clientId, scopes, parameters } = this.#options;
    const metadata = await this.metadata(cancellation);
    const attempt = {
      state: randomText(),
      nonce: randomText(),
      verifier: randomText(),
    };
    const location = withQuery(metadata.authorization_endpoint ?? "", {
      ...parameters,
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      scope: ["openid", ...scopes].join(" "),
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: sha256(attempt.verifier),
      code_challenge_method: "S256",
    });
    return { location, attempt };
  }

  /**
   * Redeems the code of a response, whose `state` and `iss` have to be those of the attempt.
   * @throws {OAuthError} When the provider does not confirm the user.
   */
  async finish(
    { state, nonce, verifier }: LoginAttempt,
    redirectUri: string,
    { answer, cancellation }: {
      readonly answer: URLSearchParams;
      readonly cancellation: Cancellation;
    },
  ): Promise<OpenIdTokens & { readonly claims: JsonObject }> {
    const metadata = await this.metadata(cancellation);
    const oauth = await loadOAuthLibrary();
    const client = { client_id: this.#options.clientId };
    const options = this.#requestOptions(oauth, cancellation);
    try {
      const response = await oauth.authorizationCodeGrantRequest(
        metadata,
        client,
        await authenticate(this.#options.authentication, metadata, oauth),
        oauth.validateAuthResponse(metadata, client, answer, state),
        redirectUri,
        verifier,
        options,
      );
      const tokens = await oauth.processAuthorizationCodeResponse(
        metadata,
        client,
        response,
        { expectedNonce: nonce, requireIdToken: true },
      );
      await oauth.validateApplicationLevelSignature(
        metadata,
        response,
        options,
      );
      const read = readTokens(tokens, oauth);
      const { claims = {} } = read;
      if (!stringMember(claims, "sub")) {
        throw new OAuthError("server_error", "the ID token names no user");
      }
      return { ...read, claims };
    } catch (error) {
      if (error instanceof OAuthError) throw error;
      throw new OAuthError(
        error instanceof oauth.AuthorizationResponseError
          ? "access_denied"
          : "server_error",
        "the identity provider did not log you in",
        error instanceof oauth.AuthorizationResponseError
          ? [error.error, error.error_description ?? ""]
            .filter((each) => each !== "").join(": ").slice(0, 200)
          // Errors of the library have no secrets, but their causes do.
          : error instanceof Error
          ? error.message
          : undefined,
      );
    }
  }

  /**
   * Gets new tokens of a user.
   * @throws {EndedError} When the provider does not renew them any more, or they are of somebody else.
   * @throws {Error} When the provider is not available.
   */
  async renew(
    { refreshToken, subject }: {
      readonly refreshToken: string;
      readonly subject: string;
    },
    cancellation: Cancellation,
  ): Promise<OpenIdTokens> {
    const metadata = await this.metadata(cancellation);
    const oauth = await loadOAuthLibrary();
    const client = { client_id: this.#options.clientId };
    const options = this.#requestOptions(oauth, cancellation);
    try {
      const response = await oauth.refreshTokenGrantRequest(
        metadata,
        client,
        await authenticate(this.#options.authentication, metadata, oauth),
        refreshToken,
        options,
      );
      const tokens = readTokens(
        await oauth.processRefreshTokenResponse(metadata, client, response),
        oauth,
      );
      if (tokens.claims !== undefined) {
        await oauth.validateApplicationLevelSignature(
          metadata,
          response,
          options,
        );
        if (tokens.claims["sub"] !== subject) {
          throw new EndedError("the renewed tokens are of another user");
        }
      }
      return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
    } catch (error) {
      const isOver = error instanceof oauth.ResponseBodyError &&
        error.error === "invalid_grant";
      throw isOver
        ? new EndedError("the provider does not renew the tokens")
        : error;
    }
  }

  /** Returns where the browser has to go to end its session at the provider; `undefined` if the provider has no such place. */
  async logoutUrl(
    { idToken, returnTo }: {
      readonly idToken: string | undefined;
      readonly returnTo: string | undefined;
    },
    cancellation: Cancellation,
  ): Promise<string | undefined> {
    const { end_session_endpoint: endpoint } = await this.metadata(
      cancellation,
    );
    if (typeof endpoint !== "string" || !isWebUrl(endpoint)) return undefined;
    return withQuery(endpoint, {
      client_id: this.#options.clientId,
      ...(idToken !== undefined && { id_token_hint: idToken }),
      ...(returnTo !== undefined && { post_logout_redirect_uri: returnTo }),
    });
  }

  /**
   * Returns the metadata of the provider.
   * @throws {OAuthError} When it is not available, or not that of the issuer.
   */
  async metadata(cancellation: Cancellation): Promise<ServerMetadata> {
    const now = this.#options.clock.monotonic();
    const known = this.#metadata;
    if (known !== undefined && now < known.staleAt) return await known.value;
    const value = this.#discover(cancellation);
    const next = { value, staleAt: now + FRESH_MS };
    this.#metadata = next;
    try {
      return await value;
    } catch (error) {
      if (this.#metadata === next) this.#metadata = undefined;
      throw new OAuthError(
        "temporarily_unavailable",
        "the identity provider is not available",
        error instanceof Error ? error.message : undefined,
        5,
      );
    }
  }

  /**
   * Returns the keys of the provider.
   * @param than Keys that do not have the one that is wanted; newer ones are fetched, if that was not done just now.
   */
  async keys(cancellation: Cancellation, than?: KeySet): Promise<KeySet> {
    const now = this.#options.clock.monotonic();
    const known = this.#keys;
    if (known !== undefined) {
      const isWanted = than === undefined || await known.value !== than ||
        now < known.staleAt - FRESH_MS + NEW_KEYS_MS;
      if (isWanted && now < known.staleAt) return await known.value;
    }
    const value = this.#fetchKeys(cancellation);
    const next = { value, staleAt: now + FRESH_MS };
    this.#keys = next;
    try {
      return await value;
    } catch (error) {
      if (this.#keys === next) this.#keys = undefined;
      throw error;
    }
  }

  async #fetchKeys(cancellation: Cancellation): Promise<KeySet> {
    const { jwks_uri: url = "" } = await this.metadata(cancellation);
    const headers = { accept: "application/json, application/jwk-set+json" };
    const response = await this.#requests.fetch(url, { headers }, {
      cancellation,
    });
    return await readKeySet(await response.text());
  }

  async #discover(cancellation: Cancellation): Promise<ServerMetadata> {
    const oauth = await loadOAuthLibrary();
    const url = new URL(this.#options.issuer);
    const response = await oauth.discoveryRequest(
      url,
      this.#requestOptions(oauth, cancellation),
    );
    const metadata = await oauth.processDiscoveryResponse(url, response);
    const protocol = URL.parse(metadata.authorization_endpoint ?? "")?.protocol;
    if (protocol !== "https:" && protocol !== url.protocol) {
      throw new TypeError("expected an authorization endpoint over HTTPS");
    }
    return metadata;
  }

  #requestOptions(oauth: OAuthLibrary, cancellation: Cancellation) {
    return this.#requests.options(this.#options.issuer, oauth, {
      cancellation,
    });
  }
}

interface Known<T> {
  readonly value: Promise<T>;
  /** Monotonic time. */
  readonly staleAt: number;
}

function readTokens(
  tokens: Parameters<OAuthLibrary["getValidatedIdTokenClaims"]>[0],
  oauth: OAuthLibrary,
): OpenIdTokens {
  const { id_token, access_token, refresh_token, expires_in } = tokens;
  const claims = oauth.getValidatedIdTokenClaims(tokens);
  return {
    claims: claims && { ...claims },
    idToken: id_token,
    accessToken: access_token,
    refreshToken: refresh_token,
    lifetimeMs: expires_in === undefined ? undefined : expires_in * 1000,
  };
}

const MAX_NAME_LENGTH = 256;

/** Returns the name of a user for people; the subject if the provider sends none. */
export function nameOfUser(claims: JsonObject): string {
  const [name] = ["preferred_username", "email", "name", "sub"]
    .map((each) => claims[each])
    .filter((each) => typeof each === "string" && each !== "");
  return String(name).slice(0, MAX_NAME_LENGTH);
}

function isWebUrl(url: string): boolean {
  const protocol = URL.parse(url)?.protocol;
  return protocol === "https:" || protocol === "http:";
}

function withQuery(
  endpoint: string,
  parameters: Readonly<Record<string, string>>,
): string {
  const url = new URL(endpoint);
  for (const [name, value] of Object.entries(parameters)) {
    url.searchParams.set(name, value);
  }
  return url.href;
}
