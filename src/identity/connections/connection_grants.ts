import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { GatewayError } from "../../base/errors.ts";
import {
  authenticate,
  loadOAuthLibrary,
  type ServerMetadata,
  withNonce,
} from "../backend_tokens/oauth_library.ts";
import { toTokenError } from "../backend_tokens/token_error.ts";
import { EndedError } from "../vault/vault.ts";
import { clientOf, type Connection, withGrant } from "./granted_connection.ts";
import { readGrant } from "./connection_logins.ts";
import type { LoginClients } from "./login_clients.ts";
import type { LoginServers } from "./login_servers.ts";
import type { UserLogin } from "../backend_tokens/backend_credentials.ts";

/** Dependencies of the grants. */
export interface ConnectionGrantsOptions {
  readonly servers: LoginServers;
  readonly clients: Pick<LoginClients, "forget">;
  readonly clock: Clock;
  /** Aborts requests when the gateway stops. */
  readonly cancellation: Cancellation;
  /** Called after each request for a token. @param error `undefined` when there is one. */
  onRequested(login: UserLogin, error: GatewayError | undefined): void;
}

/** Renews and revokes what users have granted, at the authorization server. */
export class ConnectionGrants {
  readonly #options: ConnectionGrantsOptions;

  constructor(options: ConnectionGrantsOptions) {
    this.#options = options;
  }

  /**
   * Gets a new token.
   * @throws {EndedError} When the grant has ended.
   * @throws {GatewayError} Those of a token request.
   */
  async renew(
    login: UserLogin,
    before: Connection & { readonly refreshToken: string },
    cancellation: Cancellation,
  ): Promise<Connection> {
    const { servers, clients, clock, onRequested } = this.#options;
    const oauth = await loadOAuthLibrary();
    try {
      const metadata = await servers.metadataOf(
        login,
        before.issuer,
        cancellation,
      );
      const grant = await withNonce(before.proofKey, oauth, async () => {
        const { clientId, authentication } = clientOf(login, before);
        const { refreshToken, resource, proofKey } = before;
        const client = { client_id: clientId };
        const response = await oauth.genericTokenEndpointRequest(
          metadata,
          client,
          await authenticate(authentication, metadata, oauth),
          "refresh_token",
          { refresh_token: refreshToken, resource },
          await servers.requestOptions(login, cancellation, proofKey),
        );
        return readGrant(
          await oauth.processGenericTokenEndpointResponse(
            metadata,
            client,
            response,
          ),
          proofKey,
        );
      });
      onRequested(login, undefined);
      return withGrant(before, grant, clock.now());
    } catch (error) {
      const client = { backend: login.backend, clientId: before.clientId };
      const failure = toTokenError(error, client, true, oauth);
      onRequested(login, failure);
      const code = error instanceof oauth.ResponseBodyError
        ? error.error
        : undefined;
      if (code === "invalid_grant") {
        throw new EndedError("the server does not renew the token");
      }
      if (code === "invalid_client" && login.client === undefined) {
        await clients.forget(login, before.issuer);
        throw new EndedError("the server does not know the client any more");
      }
      throw failure;
    }
  }

  /**
   * Revokes a connection (RFC 7009), its refresh token first: that ends the access tokens of the grant, too.
   * @returns False when the server cannot do that.
   */
  async revoke(
    login: UserLogin,
    connection: Connection,
  ): Promise<boolean> {
    const { servers, cancellation } = this.#options;
    const metadata: ServerMetadata = await servers.metadataOf(
      login,
      connection.issuer,
      cancellation,
    );
    if (metadata.revocation_endpoint === undefined) return false;
    const oauth = await loadOAuthLibrary();
    const { clientId, authentication } = clientOf(login, connection);
    const { token, refreshToken } = connection;
    const kinds = [["refresh_token", refreshToken], ["access_token", token]];
    for (const [kind = "", text] of kinds) {
      if (text === undefined) continue;
      const response = await oauth.revocationRequest(
        metadata,
        { client_id: clientId },
        await authenticate(authentication, metadata, oauth),
        text,
        {
          ...await servers.requestOptions(login, cancellation),
          additionalParameters: { token_type_hint: kind },
        },
      );
      try {
        await oauth.processRevocationResponse(response);
      } catch (error) {
        // Tokens that the server does not keep end by themselves; those of the grant are not renewed any more.
        const isKept = !(error instanceof oauth.ResponseBodyError) ||
          error.error !== "unsupported_token_type";
        if (isKept || refreshToken === undefined) throw error;
      }
    }
    return true;
  }
}
