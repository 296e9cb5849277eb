import { Buffer } from "node:buffer";
import type { Clock } from "../../base/clock.ts";
import type { AccountChanges, KeptChanges } from "./account_changes.ts";
import type { UserLogin } from "../backend_tokens/backend_credentials.ts";
import { type Vault, VaultError } from "../vault/vault.ts";
import { digestOf, type VaultId } from "../vault/vault_seal.ts";
import type {
  ConnectionIndex,
  ListedConnection,
  SealedConnection,
} from "./connection_index.ts";
import {
  type Connection,
  isOver,
  readConnection,
} from "./granted_connection.ts";
import {
  connectionId,
  type Connections,
  type EndedConnection,
} from "./user_connections.ts";

/** Dependencies of the connections for admins. */
export interface AdminConnectionsOptions {
  readonly vault: Pick<Vault, "read">;
  readonly index: Pick<ConnectionIndex, "discard" | "list" | "remove">;
  readonly connections: Pick<Connections, "end">;
  readonly changes: Pick<AccountChanges, "read">;
  readonly clock: Pick<Clock, "now">;
  /** Returns the logins of the configuration in force. */
  logins(): readonly UserLogin[];
}

/** Connections to list; those that are not set select all. */
export interface ConnectionSelection {
  /** Key of the backend or the MCP server, such as `default/tools#crm`. */
  readonly backend: string | undefined;
  /** Issuer and subject of the user. */
  readonly issuer: string | undefined;
  readonly subject: string | undefined;
  /** Only those with an ID after this one. */
  readonly after: string | undefined;
  readonly limit: number;
}

/**
 * `active`: the gateway has a token or renews it; `expired`: the user has to connect again; `sealed`: no key of the vault opens the
 * record.
 */
export type ConnectionState = "active" | "expired" | "sealed";

/** A connection without its tokens. */
export interface ConnectionView {
  /** 32 hexadecimal digits: the same after the user has connected again. */
  readonly id: string;
  /** Not set, as whose it is, when the key of the vault is lost. */
  readonly backend?: string;
  readonly issuer?: string;
  readonly subject?: string;
  readonly resource?: string;
  /** ISO 8601. */
  readonly connectedAt: string;
  readonly state: ConnectionState;
  /** When the token ends that the gateway cannot renew, in ISO 8601; not set if it renews it, or nobody knows. */
  readonly expiresAt?: string;
  /** Issuer of the authorization server, and the granted scopes; not set when no key opens the record. */
  readonly server?: string;
  readonly scopes?: readonly string[];
}

/** Connections in the order of their IDs. */
export interface ConnectionList {
  readonly connections: readonly ConnectionView[];
  /** There are more: those after the last one. */
  readonly hasMore: boolean;
}

/** A connection is in the index before it is in the vault: entries are removed after this time only. */
const WRITE_MS = 60_000;
const ID_LENGTH = 32;

/** Lists and ends the connections of all users. Rejects when the store fails. */
export class AdminConnections {
  readonly #options: AdminConnectionsOptions;

  constructor(options: AdminConnectionsOptions) {
    this.#options = options;
  }

  /** Returns what users have changed in this thread. */
  changes(): KeptChanges {
    return this.#options.changes.read();
  }

  /** Lists connections; forgets what is not in the vault any more. */
  async list(selection: ConnectionSelection): Promise<ConnectionList> {
    const { backend, issuer, subject, after = "", limit } = selection;
    const { opened, sealed } = await this.#options.index.list();
    const isAll = [backend, issuer, subject].every((each) =>
      each === undefined
    );
    const selected = [
      ...opened.filter((entry) =>
        (backend === undefined || entry.server === backend) &&
        (issuer === undefined || entry.issuer === issuer) &&
        (subject === undefined || entry.subject === subject)
      ),
      ...(isAll ? sealed : []),
    ].map((entry) => ({ id: publicIdOf(entry), entry }))
      .filter(({ id }) => id > after)
      .toSorted((a, b) => a.id < b.id ? -1 : 1);
    const connections: ConnectionView[] = [];
    for (const { id, entry } of selected) {
      const view = await this.#viewOf(id, entry);
      if (view === undefined) continue;
      if (connections.length >= limit) return { connections, hasMore: true };
      connections.push(view);
    }
    return { connections, hasMore: false };
  }

  /** Returns the key in the vault of a connection by its ID; `undefined` without one. */
  async find(id: string): Promise<VaultId | SealedConnection | undefined> {
    const { opened, sealed } = await this.#options.index.list();
    const found = [...opened, ...sealed].find((entry) =>
      publicIdOf(entry) === id
    );
    if (found === undefined || "digest" in found) return found;
    const { connectedAt: _, ...key } = found;
    return key;
  }

  /**
   * Ends a connection, also one that the configuration in force does not use any more; then its server learns nothing.
   * @returns `undefined` without a connection.
   */
  async end(
    key: VaultId | SealedConnection,
  ): Promise<EndedConnection | undefined> {
    const { connections, index, logins } = this.#options;
    if ("digest" in key) {
      return await index.discard(key) ? { isConfirmed: false } : undefined;
    }
    const login = logins().find((each) =>
      publicIdOf(connectionId(each, key)) === publicIdOf(key)
    );
    return await connections.end(key, login);
  }

  async #viewOf(
    id: string,
    entry: ListedConnection | SealedConnection,
  ): Promise<ConnectionView | undefined> {
    const { index, clock } = this.#options;
    const connectedAt = new Date(entry.connectedAt).toISOString();
    if ("digest" in entry) return { id, connectedAt, state: "sealed" };
    const { server: backend, client: _, ...rest } = entry;
    const known = { id, backend, ...rest, connectedAt };
    const record = await this.#read(entry);
    if (record === "sealed") return { ...known, state: "sealed" };
    const now = clock.now();
    if (record?.connectedAt === entry.connectedAt) {
      const { issuer: server, scopes } = record;
      return { ...known, ...lifetimeOf(record, now), server, scopes };
    }
    if (now - entry.connectedAt > WRITE_MS) await index.remove(entry);
    return undefined;
  }

  async #read(
    { connectedAt: _, ...key }: ListedConnection,
  ): Promise<Connection | "sealed" | undefined> {
    try {
      return readConnection(await this.#options.vault.read(key) ?? {});
    } catch (error) {
      if (error instanceof VaultError) return "sealed";
      throw error;
    }
  }
}

function lifetimeOf(
  connection: Connection,
  now: number,
): Pick<ConnectionView, "state" | "expiresAt"> {
  const { endsAt, refreshToken } = connection;
  const state = isOver(connection, now) ? "expired" : "active";
  return refreshToken === undefined && endsAt !== undefined
    ? { state, expiresAt: new Date(endsAt).toISOString() }
    : { state };
}

function publicIdOf(key: VaultId | SealedConnection): string {
  const digest = "digest" in key ? key.digest : digestOf(key);
  return Buffer.from(digest, "base64url").toString("hex").slice(0, ID_LENGTH);
}
