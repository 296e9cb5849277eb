import type { Cancellation } from "../../base/cancellation.ts";
import { stringMember } from "../../base/json.ts";
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
import { OAuthError } from "../oauth/protocol/oauth_error.ts";
import { randomText, sha256 } from "../oauth/protocol/seal.ts";
import type { ConnectionLinks } from "./connection_links.ts";
import type { GatewayUser } from "./user_login.ts";

/** An identity provider at which users log in on the pages of the gateway. */
export interface PageLogin {
  readonly issuer: string;
  readonly clientId: string;
  readonly authentication: ClientAuthentication;
  /** Scopes besides `openid`. */
  readonly scopes: readonly string[];
}

/** A user who has logged in. */
export interface PageUser extends GatewayUser {
  /** Name for the page; the subject if the provider sends none. */
  readonly name: string;
}

/** Dependencies of logins at the gateway. */
export interface GatewayLoginOptions extends ServerRequestOptions {
  readonly logins: readonly PageLogin[];
  readonly links: Pick<ConnectionLinks, "seal" | "open">;
  readonly redirectUri: string;
}

/** A login that was started, and the cookie that remembers it. */
export interface StartedLogin {
  readonly location: string;
  readonly cookie: string;
}

/** Time that a user has to log in. */
export const LOGIN_MS = 10 * 60_000;
const MAX_NAME_LENGTH = 256;
const FRESH_MS = 5 * 60_000;

/** Logins of users at the gateway with OpenID Connect: authorization code with PKCE, state and nonce, bound to the browser. */
export class GatewayLogin {
  readonly #options: GatewayLoginOptions;
  readonly #requests: ServerRequests;
  readonly #metadata = new Map<
    string,
    { readonly metadata: Promise<ServerMetadata>; readonly staleAt: number }
  >();

  constructor(options: GatewayLoginOptions) {
    this.#options = options;
    this.#requests = new ServerRequests(options);
  }

  /** Issuers at which users can log in. */
  get issuers(): readonly string[] {
    return this.#options.logins.map(({ issuer }) => issuer);
  }

  /**
   * Starts a login.
   * @param returnTo Path of the page to go on with.
   * @throws {OAuthError} When users of the issuer cannot log in, or it is away.
   */
  async start(
    issuer: string,
    returnTo: string,
    cancellation: Cancellation,
  ): Promise<StartedLogin> {
    const { links, clock, redirectUri } = this.#options;
    const login = this.#loginAt(issuer);
    const metadata = await this.#metadataOf(login, cancellation);
    const state = randomText();
    const nonce = randomText();
    const verifier = randomText();
    const location = new URL(metadata.authorization_endpoint ?? "");
    const parameters = {
      response_type: "code",
      client_id: login.clientId,
      redirect_uri: redirectUri,
      scope: ["openid", ...login.scopes].join(" "),
      state,
      nonce,
      code_challenge: sha256(verifier),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(parameters)) {
      location.searchParams.set(name, value);
    }
    const expiresAt = clock.now() + LOGIN_MS;
    const cookie = links.seal("login", {
      issuer,
      returnTo,
      state,
      nonce,
      verifier,
      expiresAt,
    });
    return { location: location.href, cookie };
  }

  /**
   * Ends a login with the answer of the provider.
   * @param cookie That of `start`.
   * @throws {OAuthError} When it is not the answer to a login of this browser, or the provider does not confirm the user.
   */
  async finish(
    cookie: string,
    answer: URLSearchParams,
    cancellation: Cancellation,
  ): Promise<{ readonly user: PageUser; readonly returnTo: string }> {
    const value = this.#options.links.open("login", cookie) ?? {};
    const issuer = stringMember(value, "issuer");
    const state = stringMember(value, "state");
    const nonce = stringMember(value, "nonce");
    const verifier = stringMember(value, "verifier");
    const returnTo = stringMember(value, "returnTo");
    if (
      issuer === undefined || state === undefined || nonce === undefined ||
      verifier === undefined || returnTo === undefined ||
      answer.get("state") !== state
    ) {
      throw new OAuthError(
        "invalid_request",
        "this login was not started in this browser, or more than ten minutes ago",
      );
    }
    const login = this.#loginAt(issuer);
    const metadata = await this.#metadataOf(login, cancellation);
    const oauth = await loadOAuthLibrary();
    try {
      const user = await this.#redeem(
        login,
        { metadata, answer, state, nonce, verifier, cancellation },
        oauth,
      );
      return { user, returnTo };
    } catch (error) {
      if (error instanceof OAuthError) throw error;
      throw new OAuthError(
        error instanceof oauth.AuthorizationResponseError
          ? "access_denied"
          : "server_error",
        "the identity provider did not log you in",
        // Errors of the library have no secrets, but their causes do.
        error instanceof Error ? error.message : undefined,
      );
    }
  }

  async #redeem(
    { clientId, authentication }: PageLogin,
    { metadata, answer, cancellation, ...sent }: {
      readonly metadata: ServerMetadata;
      readonly answer: URLSearchParams;
      readonly state: string;
      readonly nonce: string;
      readonly verifier: string;
      readonly cancellation: Cancellation;
    },
    oauth: OAuthLibrary,
  ): Promise<PageUser> {
    const { redirectUri } = this.#options;
    const client = { client_id: clientId };
    const options = this.#requests.options(metadata.issuer, oauth, {
      cancellation,
    });
    const response = await oauth.authorizationCodeGrantRequest(
      metadata,
      client,
      await authenticate(authentication, metadata, oauth),
      oauth.validateAuthResponse(metadata, client, answer, sent.state),
      redirectUri,
      sent.verifier,
      options,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(
      metadata,
      client,
      response,
      { expectedNonce: sent.nonce, requireIdToken: true },
    );
    await oauth.validateApplicationLevelSignature(metadata, response, options);
    const claims = oauth.getValidatedIdTokenClaims(tokens);
    const { iss: issuer = "", sub: subject = "" } = claims ?? {};
    if (issuer === "" || subject === "") {
      throw new OAuthError("server_error", "the ID token names no user");
    }
    const names = ["preferred_username", "email", "name"]
      .map((name) => claims?.[name])
      .filter((name) => typeof name === "string" && name !== "");
    const name = String(names[0] ?? subject).slice(0, MAX_NAME_LENGTH);
    return { issuer, subject, name };
  }

  #loginAt(issuer: string): PageLogin {
    const { logins } = this.#options;
    const login = logins.find((each) => each.issuer === issuer);
    if (login !== undefined) return login;
    throw new OAuthError(
      "invalid_request",
      "users of this identity provider cannot log in here; whoever runs the gateway adds it to config.connections.logins",
    );
  }

  async #metadataOf(
    { issuer }: PageLogin,
    cancellation: Cancellation,
  ): Promise<ServerMetadata> {
    const now = this.#options.clock.monotonic();
    const known = this.#metadata.get(issuer);
    if (known !== undefined && now < known.staleAt) return await known.metadata;
    const metadata = this.#discover(issuer, cancellation);
    this.#metadata.set(issuer, { metadata, staleAt: now + FRESH_MS });
    try {
      return await metadata;
    } catch (error) {
      this.#metadata.delete(issuer);
      throw new OAuthError(
        "temporarily_unavailable",
        "the identity provider is not available",
        error instanceof Error ? error.message : undefined,
        5,
      );
    }
  }

  async #discover(
    issuer: string,
    cancellation: Cancellation,
  ): Promise<ServerMetadata> {
    const oauth = await loadOAuthLibrary();
    const options = this.#requests.options(issuer, oauth, { cancellation });
    const url = new URL(issuer);
    const response = await oauth.discoveryRequest(url, options);
    const metadata = await oauth.processDiscoveryResponse(url, response);
    const protocol = URL.parse(metadata.authorization_endpoint ?? "")?.protocol;
    if (protocol !== "https:" && protocol !== url.protocol) {
      throw new TypeError("expected an authorization endpoint over HTTPS");
    }
    return metadata;
  }
}
