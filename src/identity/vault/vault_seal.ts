import { createHash } from "node:crypto";
import type { JsonObject } from "../../base/json.ts";
import { Seal } from "../../base/sealed_values.ts";

/** Owner and purpose of a record: nothing of one opens as that of another. */
export interface VaultId {
  /** Issuer and subject of the user. */
  readonly issuer: string;
  readonly subject: string;
  /** Key of the backend or the MCP server, such as `default/tools#crm`. */
  readonly server: string;
  /** Service that the tokens are for; may be empty. */
  readonly resource: string;
  /** The client at the authorization server, and what else tokens depend on. */
  readonly client: string;
}

/** Secrets that seal records: the first one seals, all open. */
export type VaultKeys = readonly [string, ...string[]];

/** Content of a record. */
interface OpenedRecord {
  readonly value: JsonObject;
  /** It was sealed with an older key. */
  readonly isOutdated: boolean;
}

/** Two tokens of 16 KiB; Deno KV keeps at most 64 KiB. */
const MAX_SEALED_LENGTH = 60 * 1024;

/** Seals records with AES-256-GCM; the additional data is the id, so a record that was copied to another place does not open. */
export class VaultSeal {
  readonly #keys: () => VaultKeys;
  #seals: {
    readonly keys: VaultKeys;
    readonly current: Seal<string>;
    readonly all: Seal<string>;
  } | undefined;

  /** @param keys Returns the keys in force. */
  constructor(keys: () => VaultKeys) {
    this.#keys = keys;
  }

  /** Seals a value. @throws {RangeError} When it is too long. */
  seal(id: VaultId, value: JsonObject): string {
    const sealed = this.#current().current.seal(purposeOf(id), value);
    if (sealed.length <= MAX_SEALED_LENGTH) return sealed;
    throw new RangeError("Cannot seal a record: its tokens are too long");
  }

  /** Opens what `seal` made for the same id; `undefined` for anything else, and without its key. */
  open(id: VaultId, sealed: string): OpenedRecord | undefined {
    const { current, all } = this.#current();
    const purpose = purposeOf(id);
    const fresh = current.open(purpose, sealed);
    if (fresh !== undefined) return { value: fresh, isOutdated: false };
    const value = all.open(purpose, sealed);
    return value && { value, isOutdated: true };
  }

  #current() {
    const keys = this.#keys();
    if (this.#seals?.keys !== keys) {
      const create = (secrets: VaultKeys) =>
        new Seal<string>("gateway vault", secrets, MAX_SEALED_LENGTH);
      this.#seals = { keys, current: create([keys[0]]), all: create(keys) };
    }
    return this.#seals;
  }
}

/** JSON separates the parts, so that no two ids have the same purpose. */
function purposeOf(
  { issuer, subject, server, resource, client }: VaultId,
): string {
  return JSON.stringify([issuer, subject, server, resource, client]);
}

/** Returns the key of a record in the store, which does not say whose it is. */
export function recordKey(id: VaultId): Deno.KvKey {
  return keyOfDigest(digestOf(id));
}

/** Returns the key of the record with a digest. */
export function keyOfDigest(digest: string): Deno.KvKey {
  return ["vault", digest];
}

/** Returns a digest that identifies a record, in base64url. */
export function digestOf(id: VaultId): string {
  return createHash("sha256").update(purposeOf(id)).digest("base64url");
}
