import assert from "node:assert/strict";
import { ConnectingUser, type VisitedPage } from "./connecting_user.ts";
import type { Keycloak } from "./keycloak.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Secret of the client `gateway`. */
export const GATEWAY_SECRET = "planted-gateway-secret-51f0";

const REALM = "credentials";

/** A realm with the users `ada` and `ben`, the application `app`, the service `reports`, and the gateway between them. */
export class KeycloakRealm {
  readonly origin: string;
  readonly issuer: string;
  readonly #protocol: string;

  private constructor(origin: string) {
    this.origin = origin;
    this.issuer = `${origin}/realms/${REALM}`;
    this.#protocol = `${this.issuer}/protocol/openid-connect`;
  }

  /** Creates the realm. @param gateway Origin of the gateway, whose pages users visit. */
  static async create(
    { origin }: Keycloak,
    gateway: string,
  ): Promise<KeycloakRealm> {
    const token = await postForm(
      `${origin}/realms/master/protocol/openid-connect/token`,
      {
        grant_type: "password",
        client_id: "admin-cli",
        username: "admin",
        password: "admin",
      },
    );
    const response = await fetch(`${origin}/admin/realms`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token["access_token"]}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(realmOf(gateway)),
    });
    assert.equal(response.status, 201, await response.text());
    return new KeycloakRealm(origin);
  }

  /** URL of the token endpoint. */
  get tokenEndpoint(): string {
    return `${this.#protocol}/token`;
  }

  /** URL of the keys. */
  get keys(): string {
    return `${this.#protocol}/certs`;
  }

  /** Issues a token of the application to a user. */
  async tokenOf(user: string, headers: Record<string, string> = {}) {
    const { access_token: token, token_type: type } = await postForm(
      this.tokenEndpoint,
      {
        grant_type: "password",
        client_id: "app",
        username: user,
        password: user,
        scope: "openid",
      },
      headers,
    );
    return { token: String(token), type };
  }

  /** Revokes a token of the application. */
  async revoke(token: string): Promise<void> {
    await postForm(`${this.#protocol}/revoke`, { client_id: "app", token });
  }

  /** Reports whether Keycloak still accepts a token. */
  async isActive(token: string): Promise<unknown> {
    const { active } = await postForm(`${this.#protocol}/token/introspect`, {
      client_id: "gateway",
      client_secret: GATEWAY_SECRET,
      token,
    });
    return active;
  }

  /** Connects the account of a user: logs in at Keycloak, and agrees at the gateway. */
  async connect(
    name: string,
    link: string,
  ): Promise<{ readonly user: ConnectingUser; readonly page: VisitedPage }> {
    const user = new ConnectingUser(name, new URL(link).origin, this.origin);
    let page = await user.visit(link);
    for (let steps = 0; steps < 6; steps++) {
      if (page.url.origin === this.origin) {
        page = await this.#submitLogin(user, page);
      } else if (page.url.pathname.endsWith("/connections")) {
        return { user, page };
      } else page = await user.submit(page, "allow");
    }
    throw new Error(`too many pages, the last is ${page.url}: ${page.text}`);
  }

  /** Opens a page of the gateway as a user who logs in at Keycloak. */
  async open(
    name: string,
    url: string,
  ): Promise<{ readonly user: ConnectingUser; readonly page: VisitedPage }> {
    const user = new ConnectingUser(name, new URL(url).origin, this.origin);
    const page = await this.#submitLogin(user, await user.visit(url));
    return { user, page };
  }

  #submitLogin(
    user: ConnectingUser,
    { text }: VisitedPage,
  ): Promise<VisitedPage> {
    const [, action = ""] = /<form[^>]* action="([^"]*)"/.exec(text) ?? [];
    const { name } = user;
    return user.visit(
      action.replaceAll("&amp;", "&"),
      new URLSearchParams({ username: name, password: name }),
    );
  }
}

async function postForm(
  url: string,
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Fields> {
  const body = new URLSearchParams(form);
  const response = await fetch(url, { method: "POST", headers, body });
  const text = await response.text();
  assert(response.ok, `${url}: ${response.status} ${text}`);
  return text === "" ? {} : JSON.parse(text);
}

function realmOf(gateway: string): Fields {
  const userOf = (username: string) => ({
    username,
    enabled: true,
    email: `${username}@example.com`,
    emailVerified: true,
    firstName: username,
    lastName: "Example",
    realmRoles: [`default-roles-${REALM}`],
    credentials: [{ type: "password", value: username }],
  });
  const audience = (client: string) => ({
    name: `audience ${client}`,
    protocol: "openid-connect",
    protocolMapper: "oidc-audience-mapper",
    config: {
      "included.client.audience": client,
      "access.token.claim": "true",
      "introspection.token.claim": "true",
    },
  });
  return {
    realm: REALM,
    enabled: true,
    revokeRefreshToken: true,
    users: [userOf("ada"), userOf("ben")],
    clients: [
      {
        clientId: "gateway",
        secret: GATEWAY_SECRET,
        redirectUris: [
          `${gateway}/connections/*`,
          `${gateway}/oauth2/callback`,
          `${gateway}/bye`,
        ],
        attributes: {
          "standard.token.exchange.enabled": "true",
          "post.logout.redirect.uris": "+",
        },
        protocolMappers: [audience("reports"), audience("gateway")],
      },
      { clientId: "reports", secret: "reports-secret" },
      {
        clientId: "app",
        publicClient: true,
        directAccessGrantsEnabled: true,
        protocolMappers: [audience("gateway")],
      },
    ],
  };
}
