import type { Cancellation } from "../../base/cancellation.ts";
import { type JsonObject, stringMember } from "../../base/json.ts";
import type { ClientAuthentication } from "../backend_tokens/backend_credentials.ts";
import {
  authenticate,
  loadOAuthLibrary,
  type OAuthLibrary,
} from "../backend_tokens/oauth_library.ts";
import {
  type ServerRequestOptions,
  ServerRequests,
} from "../backend_tokens/server_requests.ts";
import type { KeySet } from "../keys/key_set.ts";
import { OAuthError } from "../oauth/protocol/oauth_error.ts";
import { randomText, sha256 } from "../oauth/protocol/seal.ts";
import { EndedError } from "../vault/vault.ts";
import { OpenIdProvider } from "./openid_provider.ts";

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
/** Logs users in with OpenID Connect: authorization code with PKCE, state and nonce. */
export class OpenIdClient {
  readonly #options: OpenIdClientOptions;
  readonly #requests: ServerRequests;
  readonly #provider: OpenIdProvider;

  constructor(options: OpenIdClientOptions) {
    this.#options = options;
    this.#requests = new ServerRequests(options);
    this.#provider = new OpenIdProvider(options.issuer, options);
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
  ): Promise<{ readonly location: string; readonly attempt: LoginAttempt }> {
    const { clientId, scopes, parameters } = this.#options;
    const metadata = await this.#provider.metadata();
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
    const metadata = await this.#provider.metadata();
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
    const metadata = await this.#provider.metadata();
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
  ): Promise<string | undefined> {
    const { end_session_endpoint: endpoint } = await this.#provider.metadata();
    if (typeof endpoint !== "string" || !isWebUrl(endpoint)) return undefined;
    return withQuery(endpoint, {
      client_id: this.#options.clientId,
      ...(idToken !== undefined && { id_token_hint: idToken }),
      ...(returnTo !== undefined && { post_logout_redirect_uri: returnTo }),
    });
  }

  /**
   * Returns the keys of the provider.
   * @param than Keys that do not have the one that is wanted.
   * @throws {DocumentUnavailableError}
   */
  keys(than?: KeySet): Promise<KeySet> {
    return this.#provider.keys(than);
  }

  #requestOptions(oauth: OAuthLibrary, cancellation: Cancellation) {
    return this.#requests.options(this.#options.issuer, oauth, {
      cancellation,
    });
  }
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
