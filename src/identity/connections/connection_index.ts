import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../base/json.ts";
import { readMembers } from "../../base/json/decode_members.ts";
import type { KvChange } from "../../kv/kv_handle.ts";
import type { KvStore } from "../../kv/kv_store.ts";
import {
  digestOf,
  keyOfDigest,
  type VaultId,
  type VaultSeal,
} from "../vault/vault_seal.ts";

/** A connection, for admins. */
export interface ListedConnection extends VaultId {
  /** Milliseconds since the epoch. */
  readonly connectedAt: number;
}

/** A connection that no key opens, after the key of the vault was lost: nobody can tell whose it is. */
export interface SealedConnection {
  /** Digest of the ID of its record in the vault. */
  readonly digest: string;
  /** Milliseconds since the epoch. */
  readonly connectedAt: number;
}

/** All connections. */
export interface ListedConnections {
  /** Those that a key opens, the oldest first. */
  readonly opened: readonly ListedConnection[];
  readonly sealed: readonly SealedConnection[];
}

/** Dependencies of the list. */
export interface ConnectionIndexOptions {
  readonly store: Pick<KvStore, "transact" | "list">;
  readonly seal: VaultSeal;
  /** Entries are kept so long after their last change. */
  readonly maxAgeMs: number;
}

const listPrefix: Deno.KvKey = ["connections"];
/** Purpose of the entries. */
const entryPurpose: VaultId = {
  issuer: "",
  subject: "",
  server: "",
  resource: "",
  client: "listed connection",
};

/** A list of all connections, sealed as they are: keys of the vault do not say whose they are. */
export class ConnectionIndex {
  readonly #options: ConnectionIndexOptions;

  constructor(options: ConnectionIndexOptions) {
    this.#options = options;
  }

  /** Adds a connection, or keeps it for longer. */
  async add({ connectedAt, ...id }: ListedConnection): Promise<void> {
    const { seal, maxAgeMs } = this.#options;
    const sealed = seal.seal(entryPurpose, { ...id, connectedAt });
    await this.#commit({
      key: keyOf(id, connectedAt),
      next: {
        value: { sealed, digest: digestOf(id), connectedAt },
        expireInMs: maxAgeMs,
        listed: { prefix: listPrefix, time: connectedAt },
      },
    });
  }

  /** Removes a connection. */
  async remove({ connectedAt, ...id }: ListedConnection): Promise<void> {
    await this.#commit({ key: keyOf(id, connectedAt), listedIn: listPrefix });
  }

  /** Lists all connections; forgets sealed ones that are not in the vault any more. */
  async list(): Promise<ListedConnections> {
    const { store, seal } = this.#options;
    const opened: ListedConnection[] = [];
    const unread = new Map<string, SealedConnection[]>();
    for (const value of await store.list(listPrefix)) {
      const sealed = readText(value, "sealed");
      const found = seal.open(entryPurpose, sealed)?.value;
      const entry = found && readEntry(found);
      if (entry !== undefined) opened.push(entry);
      const digest = readText(value, "digest");
      const connectedAt = isJsonObject(value)
        ? Number(value["connectedAt"])
        : 0;
      if (entry !== undefined || digest === "") continue;
      const others = unread.get(digest) ?? [];
      unread.set(digest, [...others, { digest, connectedAt }]);
    }
    // Their users have connected again.
    for (const entry of opened) unread.delete(digestOf(entry));
    const sealed: SealedConnection[] = [];
    for (const entries of unread.values()) {
      const latest = entries.at(-1);
      if (latest === undefined) continue;
      if (await this.#isKept(latest)) sealed.push(latest);
      else for (const entry of entries) await this.discard(entry);
    }
    return { opened, sealed };
  }

  /** Removes a connection that no key opens. @returns Whether it was in the vault. */
  async discard(entry: SealedConnection): Promise<boolean> {
    const { digest, connectedAt } = entry;
    const wasKept = await this.#isKept(entry);
    const key = [...listPrefix, connectedAt, digest];
    await this.#commit(
      { key, listedIn: listPrefix },
      { key: keyOfDigest(digest) },
    );
    return wasKept;
  }

  #isKept({ digest }: SealedConnection): Promise<boolean> {
    return this.#options.store.transact(async (kv) => {
      const { value } = await kv.read(keyOfDigest(digest));
      return readText(value, "sealed") !== "";
    });
  }

  async #commit(...changes: readonly KvChange[]): Promise<void> {
    await this.#options.store.transact(async (kv) =>
      await kv.commit(changes) ? undefined : "conflict"
    );
  }
}

function keyOf(id: VaultId, connectedAt: number): Deno.KvKey {
  return [...listPrefix, connectedAt, digestOf(id)];
}

/** Returns a member of a value of the store; an empty string without it. */
function readText(value: unknown, name: string): string {
  return isJsonObject(value) ? stringMember(value, name) ?? "" : "";
}

function readEntry(value: JsonObject): ListedConnection | undefined {
  return readMembers(value, {
    issuer: "string",
    subject: "string",
    server: "string",
    resource: "string",
    client: "string",
    connectedAt: "number",
  });
}
