import { createHash } from "node:crypto";
import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../base/json.ts";
import type { KvChange } from "../../kv/kv_handle.ts";
import type { KvStore } from "../../kv/kv_store.ts";
import type { VaultId, VaultSeal } from "../vault/vault_seal.ts";

/** A connection, for admins. */
export interface ListedConnection extends VaultId {
  /** Milliseconds since the epoch. */
  readonly connectedAt: number;
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
        value: { sealed },
        expireInMs: maxAgeMs,
        listed: { prefix: listPrefix, time: connectedAt },
      },
    });
  }

  /** Removes a connection. */
  async remove({ connectedAt, ...id }: ListedConnection): Promise<void> {
    await this.#commit({ key: keyOf(id, connectedAt), listedIn: listPrefix });
  }

  /** Lists the connections that a key opens, the oldest first. */
  async list(): Promise<readonly ListedConnection[]> {
    const { store, seal } = this.#options;
    const values = await store.list(listPrefix, 0);
    return values.flatMap((value) => {
      const sealed = isJsonObject(value)
        ? stringMember(value, "sealed")
        : undefined;
      const opened = sealed && seal.open(entryPurpose, sealed)?.value;
      const entry = opened && readEntry(opened);
      return entry === undefined || entry === "" ? [] : [entry];
    });
  }

  async #commit(change: KvChange): Promise<void> {
    await this.#options.store.transact(async (kv) =>
      await kv.commit([change]) ? undefined : "conflict"
    );
  }
}

function keyOf(id: VaultId, connectedAt: number): Deno.KvKey {
  return [...listPrefix, connectedAt, digestOf(id, "base64url")];
}

/** Returns a digest that identifies a connection. */
export function digestOf(
  { issuer, subject, server, resource, client }: VaultId,
  encoding: "base64url" | "hex",
): string {
  const text = JSON.stringify([issuer, subject, server, resource, client]);
  return createHash("sha256").update(text).digest(encoding);
}

function readEntry(value: JsonObject): ListedConnection | undefined {
  const issuer = stringMember(value, "issuer");
  const subject = stringMember(value, "subject");
  const server = stringMember(value, "server");
  const resource = stringMember(value, "resource");
  const client = stringMember(value, "client");
  const { connectedAt } = value;
  return issuer === undefined || subject === undefined ||
      server === undefined || resource === undefined || client === undefined ||
      typeof connectedAt !== "number"
    ? undefined
    : { issuer, subject, server, resource, client, connectedAt };
}
