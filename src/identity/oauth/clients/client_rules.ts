import { createHash } from "node:crypto";
import { OAuthError } from "../protocol/oauth_error.ts";
import { opensProgram, withoutLoopbackPort } from "./redirect_uri.ts";

/** Clients that an administrator allows; by default, all of them. */
export interface ClientRuleSettings {
  /** Hosts such as `app.example.com` and `*.example.com`, schemes such as `cursor:`, and `loopback`; `undefined` for all. */
  readonly redirects: readonly string[] | undefined;
  /** Hosts of client metadata documents; `undefined` for all. */
  readonly documentHosts: readonly string[] | undefined;
  readonly registration: "Open" | "Token" | "Closed";
  readonly registrationTokens: readonly string[];
}

/** Rules for clients that nobody has configured. */
export const allClients: ClientRuleSettings = {
  redirects: undefined,
  documentHosts: undefined,
  registration: "Open",
  registrationTokens: [],
};

/** Decides which clients may log in users. */
export class ClientRules {
  readonly #settings: ClientRuleSettings;
  readonly #tokens: ReadonlySet<string>;

  constructor(settings: ClientRuleSettings = allClients) {
    this.#settings = settings;
    this.#tokens = new Set(settings.registrationTokens.map(digest));
  }

  get canRegister(): boolean {
    return this.#settings.registration !== "Closed";
  }

  get canHaveDocument(): boolean {
    return this.#settings.documentHosts?.length !== 0;
  }

  /** Checks that a client may register. @param authorization Of the request. @throws {OAuthError} */
  expectRegistration(authorization: string | undefined): void {
    const { registration } = this.#settings;
    if (registration === "Open") return;
    if (registration === "Closed") {
      throw new OAuthError("access_denied", "clients cannot register here");
    }
    const [, token = ""] = /^bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
    if (this.#tokens.has(digest(token))) return;
    throw new OAuthError(
      "invalid_token",
      "clients need an initial access token to register",
    );
  }

  /** Checks where users may be sent to. @throws {OAuthError} `invalid_redirect_uri` */
  expectRedirectUris(uris: readonly string[]): void {
    const { redirects } = this.#settings;
    if (redirects === undefined) return;
    for (const uri of uris) {
      if (!redirects.some((allowed) => allows(allowed, uri))) {
        throw new OAuthError(
          "invalid_redirect_uri",
          "the redirect URI is not one that this server allows",
        );
      }
    }
  }

  /** Checks the URL of a client metadata document. @throws {OAuthError} `invalid_client` */
  expectDocument(url: string): void {
    const { documentHosts } = this.#settings;
    const { host, hostname } = new URL(url);
    const isAllowed = documentHosts === undefined ||
      documentHosts.some((allowed) =>
        matches(allowed, hostname) || allowed === host
      );
    if (isAllowed) return;
    throw new OAuthError(
      "invalid_client",
      "client metadata documents of this host are not allowed",
    );
  }
}

function allows(allowed: string, uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  if (opensProgram(uri)) return allowed === protocol;
  const isLoopback = withoutLoopbackPort(uri) !== undefined;
  return isLoopback ? allowed === "loopback" : matches(allowed, hostname);
}

/** Compares a hostname with one, or with those below one: `*.example.com`. */
function matches(allowed: string, hostname: string): boolean {
  return allowed.startsWith("*.")
    ? hostname.endsWith(allowed.slice(1))
    : hostname === allowed;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
