import type { Cancellation } from "../../base/cancellation.ts";
import { readMembers } from "../../base/json/decode_members.ts";
import type { ClientAuthentication } from "../backend_tokens/backend_credentials.ts";
import type { ServerRequestOptions } from "../backend_tokens/server_requests.ts";
import { OAuthError } from "../oauth/protocol/oauth_error.ts";
import { LOGIN_MS, nameOfUser, OpenIdClient } from "../openid/openid_client.ts";
import type { ConnectionLinks } from "./connection_links.ts";
import type { GatewayUser } from "./user_login.ts";

/** An identity provider at which users log in on the pages of the gateway. */
export interface PageLogin {
  readonly issuer: string;
  readonly clientId: string;
  readonly authentication: ClientAuthentication;
  /** Trusted CAs, PEM; `undefined` for those of the operating system. */
  readonly caCertificates: readonly string[] | undefined;
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

/** Logins of users at the gateway, bound to the browser. */
export class GatewayLogin {
  readonly #options: GatewayLoginOptions;
  readonly #clients: ReadonlyMap<string, OpenIdClient>;

  constructor(options: GatewayLoginOptions) {
    this.#options = options;
    this.#clients = new Map(options.logins.map((login) => [
      login.issuer,
      new OpenIdClient({ ...options, ...login }),
    ]));
  }

  /** Issuers at which users can log in. */
  get issuers(): readonly string[] {
    return [...this.#clients.keys()];
  }

  /**
   * Starts a login.
   * @param returnTo Path of the page to go on with.
   * @throws {OAuthError} When users of the issuer cannot log in, or it is away.
   */
  async start(
    issuer: string,
    returnTo: string,
  ): Promise<StartedLogin> {
    const { links, clock, redirectUri } = this.#options;
    const client = this.#clientAt(issuer);
    const { location, attempt } = await client.start(redirectUri);
    const expiresAt = clock.now() + LOGIN_MS;
    const started = { issuer, returnTo, ...attempt, expiresAt };
    return { location, cookie: links.seal("login", started) };
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
    const login = readMembers(this.#options.links.open("login", cookie), {
      issuer: "string",
      state: "string",
      nonce: "string",
      verifier: "string",
      returnTo: "string",
    });
    if (login === undefined || answer.get("state") !== login.state) {
      throw new OAuthError(
        "invalid_request",
        "this login was not started in this browser, or more than ten minutes ago",
      );
    }
    const { issuer, returnTo, ...attempt } = login;
    const { claims } = await this.#clientAt(issuer).finish(
      attempt,
      this.#options.redirectUri,
      { answer, cancellation },
    );
    const subject = String(claims["sub"]);
    return { user: { issuer, subject, name: nameOfUser(claims) }, returnTo };
  }

  #clientAt(issuer: string): OpenIdClient {
    const client = this.#clients.get(issuer);
    if (client !== undefined) return client;
    throw new OAuthError(
      "invalid_request",
      "users of this identity provider cannot log in here; whoever runs the gateway adds it to config.connections.logins",
    );
  }
}
