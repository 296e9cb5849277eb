import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { ConnectionRequiredError, GatewayError } from "../../base/errors.ts";
import type { Log } from "../../base/log/log.ts";
import type { IssuedToken } from "../backend_tokens/oauth_library.ts";
import { UnreadConnectionError } from "../backend_tokens/token_error.ts";
import { EndedError, type Vault } from "../vault/vault.ts";
import type { VaultId } from "../vault/vault_seal.ts";
import {
  type Connection,
  isFresh,
  isUsable,
  readConnection,
  writeConnection,
} from "./granted_connection.ts";
import type { ConnectionIndex } from "./connection_index.ts";
import type { ConnectionLinks } from "./connection_links.ts";
import type { ConnectionGrants } from "./connection_grants.ts";
import { unite } from "./connection_logins.ts";
import type { UserLogin } from "../backend_tokens/backend_credentials.ts";
import { RenewalPauses } from "../vault/renewal_pauses.ts";
import { type GatewayUser, titleOf } from "./user_login.ts";

/** Dependencies of the connections. */
export interface ConnectionsOptions {
  readonly vault: Pick<Vault, "obtain" | "read" | "write" | "remove">;
  readonly index: Pick<ConnectionIndex, "add" | "remove">;
  readonly links: Pick<ConnectionLinks, "urlFor">;
  readonly grants: Pick<ConnectionGrants, "renew" | "revoke">;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a connection has ended, here or in another thread: its token must not be used any more. */
  onEnded(login: UserLogin, user: GatewayUser): void;
}

/** A connection that was ended. */
export interface EndedConnection {
  /** The authorization server has revoked the tokens. */
  readonly isConfirmed: boolean;
}

/** A token of a connection. */
type ConnectionToken = Omit<IssuedToken, "issuedTokenType">;

/**
 * The grants of users to the gateway at the authorization servers of backends. One process at a time renews a token, and the
 * others wait for it: a refresh token is never sent twice.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #pauses: RenewalPauses;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#pauses = new RenewalPauses(options.clock);
  }

  /**
   * Returns a token for a user.
   * @param rejected A token that the backend does not accept.
   * @throws {ConnectionRequiredError} When the user has to log in at the server.
   * @throws {GatewayError} `credentials_unavailable` when server or store are away.
   */
  async obtain(
    login: UserLogin,
    user: GatewayUser,
    rejected: string | undefined,
  ): Promise<ConnectionToken> {
    const { vault, clock, log } = this.#options;
    const id = connectionId(login, user);
    try {
      const known = readConnection(await vault.read(id) ?? {});
      if (known === undefined) throw this.required(login, user, []);
      if (
        isFresh(known, rejected, clock.now()) ||
        isUsable(known, rejected, clock.now()) && this.#pauses.has(id)
      ) return this.#tokenOf(known);
      const value = await vault.obtain(id, {
        isValid: (value) => {
          const found = readConnection(value);
          return found !== undefined && isFresh(found, rejected, clock.now());
        },
        renew: async (value, cancellation) => {
          const before = readConnection(value ?? {});
          if (before === undefined) throw new EndedError("no connection");
          return writeConnection(
            await this.#renew(login, user, { before, rejected }, cancellation),
          );
        },
      });
      const next = readConnection(value);
      if (next === undefined) throw this.required(login, user, []);
      await this.#list(id, next);
      return this.#tokenOf(next);
    } catch (error) {
      if (error instanceof EndedError) throw this.required(login, user, []);
      const failure = { rejected, error };
      const current = await this.#usable(login, user, failure);
      if (current !== undefined) return this.#tokenOf(current);
      if (error instanceof GatewayError) throw error;
      log.warn("Cannot read a connection", { backend: login.backend, error });
      throw new UnreadConnectionError(login, error);
    }
  }

  /** Creates the error of a user who has to log in at the server. @param scopes Scopes that the backend asks for. */
  required(
    login: UserLogin,
    user: GatewayUser,
    scopes: readonly string[],
  ): ConnectionRequiredError {
    const title = titleOf(login);
    return new ConnectionRequiredError(login.backend, {
      title,
      url: this.#options.links.urlFor(login, user, scopes),
      needsMore: scopes.length > 0,
    });
  }

  /** Creates the error of a user whose token the backend has rejected. @param asked Scopes that it asks for. */
  async rejected(
    login: UserLogin,
    user: GatewayUser,
    asked: readonly string[],
  ): Promise<ConnectionRequiredError> {
    if (asked.length === 0) return this.required(login, user, []);
    const known = await this.find(login, user).catch(() => undefined);
    // A server may replace the scopes that the user has granted before (MCP, "Step-up").
    return this.required(login, user, unite(known?.scopes ?? [], asked));
  }

  /** Returns the connection of a user; `undefined` without one. Rejects when the store fails. */
  async find(
    login: UserLogin,
    user: GatewayUser,
  ): Promise<Connection | undefined> {
    const value = await this.#options.vault.read(connectionId(login, user));
    return value && readConnection(value);
  }

  /** Keeps a new connection, in place of the one before. */
  async keep(
    login: UserLogin,
    user: GatewayUser,
    connection: Connection,
  ): Promise<void> {
    const { vault, index } = this.#options;
    const id = connectionId(login, user);
    const before = readConnection(
      await vault.read(id).catch(() => undefined) ?? {},
    );
    await index.add({ ...id, connectedAt: connection.connectedAt });
    await vault.write(id, writeConnection(connection));
    // Another login in the same millisecond has the same entry, and may have been ended meanwhile.
    await index.add({ ...id, connectedAt: connection.connectedAt });
    if (
      before !== undefined && before.connectedAt !== connection.connectedAt
    ) {
      await index.remove({ ...id, connectedAt: before.connectedAt });
    }
  }

  /** Ends the connection of a user who has asked for that; see `end`. */
  async revoke(
    login: UserLogin,
    user: GatewayUser,
  ): Promise<EndedConnection | undefined> {
    return await this.end(connectionId(login, user), login);
  }

  /**
   * Ends a connection, here and at the server (RFC 7009).
   * @param login Its login; `undefined` when the configuration has none any more, so that the server cannot be asked.
   * @returns `undefined` without a connection.
   */
  async end(
    id: VaultId,
    login: UserLogin | undefined,
  ): Promise<EndedConnection | undefined> {
    const { vault, index, log, grants, onEnded } = this.#options;
    const { server: backend, issuer, subject } = id;
    const value = await vault.remove(id);
    // Another thread may have removed it.
    if (login !== undefined) onEnded(login, { issuer, subject });
    if (value === undefined) return undefined;
    const removed = readConnection(value);
    // No key opens it; lists leave it out.
    if (removed === undefined) return { isConfirmed: false };
    await index.remove({ ...id, connectedAt: removed.connectedAt });
    if (login === undefined) return { isConfirmed: false };
    try {
      return { isConfirmed: await grants.revoke(login, removed) };
    } catch (error) {
      log.warn("Cannot revoke a connection at its authorization server", {
        backend,
        server: removed.issuer,
        // Errors of the library have no secrets, but their causes do.
        error: error instanceof Error ? error.message : "unknown",
      });
      return { isConfirmed: false };
    }
  }

  async #renew(
    login: UserLogin,
    user: GatewayUser,
    { before, rejected }: {
      readonly before: Connection;
      readonly rejected: string | undefined;
    },
    cancellation: Cancellation,
  ): Promise<Connection> {
    const { refreshToken, token } = before;
    if (refreshToken === undefined) {
      if (token !== rejected) throw new EndedError("the token has ended");
      // It may be the fault of the backend: the connection stays until the user logs in again.
      throw this.required(login, user, []);
    }
    try {
      const { grants } = this.#options;
      return await grants.renew(
        login,
        { ...before, refreshToken },
        cancellation,
      );
    } catch (error) {
      throw error instanceof GatewayError && error.code === "caller_rejected"
        ? this.required(login, user, [])
        : error;
    }
  }

  /**
   * Returns the connection after a failure, if it still works.
   * @throws {ConnectionRequiredError} When it has ended meanwhile.
   */
  async #usable(
    login: UserLogin,
    user: GatewayUser,
    { rejected, error }: {
      readonly rejected: string | undefined;
      readonly error: unknown;
    },
  ): Promise<Connection | undefined> {
    const isAway = error instanceof GatewayError &&
      error.code === "credentials_unavailable";
    if (!isAway) return undefined;
    let known: Connection | undefined;
    try {
      known = await this.find(login, user);
    } catch {
      // The store is away, too; the first error says enough.
      return undefined;
    }
    if (known === undefined) throw this.required(login, user, []);
    if (!isUsable(known, rejected, this.#options.clock.now())) return undefined;
    this.#pauses.begin(connectionId(login, user));
    return known;
  }

  /** A failure does not matter: the connection is in the list since it was made. */
  async #list(id: VaultId, { connectedAt }: Connection): Promise<void> {
    await this.#options.index.add({ ...id, connectedAt }).catch((error) =>
      this.#options.log.debug("Cannot list a connection", { error })
    );
  }

  #tokenOf({ token, endsAt, proofKey }: Connection): ConnectionToken {
    const lifetimeMs = endsAt === undefined
      ? undefined
      : endsAt - this.#options.clock.now();
    return { token, lifetimeMs, proofKey };
  }
}

/** Returns the id of a connection: user, backend, service and client, and nothing else. */
export function connectionId(
  { backend, resource, fingerprint }: UserLogin,
  { issuer, subject }: GatewayUser,
): VaultId {
  const client = JSON.stringify(["connection", fingerprint]);
  return { issuer, subject, server: backend, resource, client };
}
