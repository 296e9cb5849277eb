import type {
  KeyObject,
  KeyObjectKind,
} from "../../policy/keys/key_objects.ts";
import {
  digestOf,
  findObject,
  objectAt,
  secretAt,
  wordsOfHash,
} from "./decode_key_record.ts";
import {
  type RecordMemory,
  type RecordTableState,
  RecordTableWriter,
} from "./record_table.ts";

/** Memory that records may take: more than 100,000 keys with large metadata. */
const MAX_BYTES = 2 ** 28;

/** All keys, users and teams of a process, in memory that its threads read. */
export class KeyringTable {
  #table = RecordTableWriter.create();
  #objects = 0;

  get memory(): RecordMemory {
    return this.#table.memory;
  }

  /** Number of objects, revoked ones too. */
  get objects(): number {
    return this.#objects;
  }

  /** Size of the memory in bytes. */
  get bytes(): number {
    return this.#table.bytes;
  }

  get isFull(): boolean {
    return this.bytes >= MAX_BYTES;
  }

  find(kind: KeyObjectKind, id: string): KeyObject | undefined {
    return findObject(this.#table, kind, id);
  }

  /** Returns the ID of the key with a secret of this hash. */
  ownerOf(hash: string): string | undefined {
    const digest = wordsOfHash(hash);
    return digest && secretAt(this.#table, this.#table.find(digest))?.key;
  }

  /** Sets an object, unless a later version of it is known. */
  set(object: KeyObject): void {
    const { kind, id, sequence } = object;
    const known = this.find(kind, id);
    if (known !== undefined && known.sequence >= sequence) return;
    if (known === undefined) this.#objects++;
    const hashes = new Set(object.secrets?.map(({ hash }) => hash));
    for (const { hash } of known?.secrets ?? []) {
      const digest = hashes.has(hash) ? undefined : wordsOfHash(hash);
      if (digest !== undefined) this.#table.delete(digest);
    }
    this.#write(digestOf(kind, id), object);
    for (const { hash, expiresAt } of object.secrets ?? []) {
      const digest = wordsOfHash(hash);
      if (digest === undefined) continue;
      this.#write(digest, { key: id, expiresAt });
    }
  }

  /** Lists the objects of a kind in no particular order. */
  *list(kind: KeyObjectKind): Generator<KeyObject> {
    for (const place of this.#table.places()) {
      const object = objectAt(this.#table, place);
      if (object?.kind === kind) yield object;
    }
  }

  /** Lists revoked objects. */
  *revoked(): Generator<KeyObject> {
    for (const place of this.#table.places()) {
      if (!this.#table.textAt(place).includes('"status":"revoked"')) continue;
      const object = objectAt(this.#table, place);
      if (object?.status === "revoked") yield object;
    }
  }

  setState(state: RecordTableState): void {
    this.#table.setState(state);
  }

  /** Makes changes visible to other threads. */
  publish(): void {
    this.#table.publish();
  }

  /** Tells other threads to fetch the table that has taken the place of this one. */
  retire(): void {
    this.#table.retire();
  }

  #write(digest: Int32Array, value: unknown): void {
    const text = JSON.stringify(value);
    if (this.#table.set(digest, text)) return;
    const before = this.#table;
    this.#table = before.grow(4 * text.length);
    this.#table.set(digest, text);
    before.retire();
  }
}
