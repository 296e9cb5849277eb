import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
  stringMember,
} from "../../base/json.ts";
import {
  loadOAuthLibrary,
  type ServerMetadata,
} from "../backend_tokens/oauth_library.ts";
import { UnopenedError, type Vault } from "../vault/vault.ts";
import type { VaultId } from "../vault/vault_seal.ts";
import type { LoginServers } from "./login_servers.ts";
import { LoginServerError } from "./login_servers.ts";
import type { UserLogin } from "../backend_tokens/backend_credentials.ts";
import { pathOf } from "./user_login.ts";

/** Dependencies of the clients. */
export interface LoginClientsOptions {
  readonly vault: Pick<Vault, "obtain" | "remove">;
  readonly servers: Pick<LoginServers, "requestOptions">;
  readonly clock: Clock;
  /** URL of the pages, without a slash at its end. */
  readonly url: string;
}

/** The client for a new login. */
export interface ChosenClient {
  readonly clientId: string;
  /** Secret of a registered client. */
  readonly clientSecret: string | undefined;
}

const CLIENT_NAME = "Gateway";

/**
 * The client that the gateway is at the authorization server of a backend: that of the configuration, else one that a document
 * describes, else one that it registers (RFC 7591), once for all users and replicas.
 */
export class LoginClients {
  readonly #options: LoginClientsOptions;

  constructor(options: LoginClientsOptions) {
    this.#options = options;
  }

  /** Returns the client for a login. @throws {LoginServerError} When the server has no client for the gateway. */
  async choose(
    login: UserLogin,
    metadata: ServerMetadata,
  ): Promise<ChosenClient> {
    const { client } = login;
    if (client !== undefined) {
      return { clientId: client.clientId, clientSecret: undefined };
    }
    const documentUrl = this.documentUrl(login);
    if (
      metadata.client_id_metadata_document_supported === true &&
      documentUrl.startsWith("https:")
    ) return { clientId: documentUrl, clientSecret: undefined };
    if (metadata.registration_endpoint === undefined) {
      throw new LoginServerError(
        'the authorization server registers no clients; set "clientId" and "issuer"',
      );
    }
    const id = this.#registrationId(login, metadata.issuer);
    const obtain = () =>
      this.#options.vault.obtain(id, {
        isValid: (value) => this.#isValid(value),
        renew: (_, cancellation) =>
          this.#register(login, metadata, cancellation),
      });
    const value = await obtain().catch(async (error) => {
      if (!(error instanceof UnopenedError)) throw error;
      // Nobody could log in until it is forgotten.
      await this.#options.vault.remove(id);
      return await obtain();
    });
    return {
      clientId: stringMember(value, "clientId") ?? "",
      clientSecret: stringMember(value, "clientSecret"),
    };
  }

  /** Forgets a registration that the server does not know any more. */
  async forget(login: UserLogin, issuer: string): Promise<void> {
    await this.#options.vault.remove(this.#registrationId(login, issuer));
  }

  /** URL at which the client of a login is described. */
  documentUrl(login: UserLogin): string {
    return `${this.#options.url}/client/${pathOf(login)}`;
  }

  /** Redirect URI of a login. Each server has its own: an answer of one is never for another (RFC 9700 section 4.4.2). */
  redirectUri(login: UserLogin): string {
    return `${this.#options.url}/callback/${pathOf(login)}`;
  }

  /** Returns the client as a document describes it (draft-ietf-oauth-client-id-metadata-document). */
  document(login: UserLogin): JsonObject {
    return {
      client_id: this.documentUrl(login),
      client_uri: new URL(this.#options.url).origin,
      ...this.#metadata(login),
    };
  }

  #metadata(login: UserLogin) {
    return {
      client_name: CLIENT_NAME,
      redirect_uris: [this.redirectUri(login)],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      // Servers reject web clients with redirects to the own machine (OpenID Connect Registration section 2).
      application_type: this.#options.url.startsWith("https:")
        ? "web"
        : "native",
    };
  }

  async #register(
    login: UserLogin,
    metadata: ServerMetadata,
    cancellation: Cancellation,
  ): Promise<JsonObject> {
    const oauth = await loadOAuthLibrary();
    const { token_endpoint_auth_methods_supported: methods } = metadata;
    const isPublic = methods === undefined || methods.includes("none");
    const response = await oauth.dynamicClientRegistrationRequest(
      metadata,
      {
        ...this.#metadata(login),
        ...(!isPublic && { token_endpoint_auth_method: methods[0] ?? "none" }),
      },
      await this.#options.servers.requestOptions(login, cancellation),
    );
    const client = await readRegistered(response) ??
      await oauth.processDynamicClientRegistrationResponse(response);
    const clientSecret = stringMember(client, "client_secret");
    const { client_secret_expires_at: expiry } = client;
    return {
      clientId: client["client_id"],
      ...(clientSecret !== undefined && { clientSecret }),
      ...(typeof expiry === "number" && expiry > 0 &&
        { endsAt: expiry * 1000 }),
    };
  }

  #isValid({ endsAt }: JsonObject): boolean {
    return typeof endsAt !== "number" || this.#options.clock.now() < endsAt;
  }

  #registrationId(
    { backend, resource, fingerprint }: UserLogin,
    issuer: string,
  ): VaultId {
    return {
      issuer: "",
      subject: "",
      server: backend,
      resource,
      client: JSON.stringify([
        "registration",
        fingerprint,
        issuer,
        this.#options.url,
      ]),
    };
  }
}

/** Reads a registration, also one of a server that does not say when the secret ends; `undefined` for an error, which the library reads. */
async function readRegistered(
  response: Response,
): Promise<JsonObject | undefined> {
  if (!response.ok) return undefined;
  const client = parseJson(await response.clone().text());
  return isJsonObject(client) && typeof client["client_id"] === "string"
    ? client
    : undefined;
}
