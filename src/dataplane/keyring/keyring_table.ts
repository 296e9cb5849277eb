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
  /** IDs by kind; no object is ever removed. */
  readonly #ids: Record<KeyObjectKind, string[]> = {
    key: [],
    user: [],
    team: [],
  };
  readonly #unsorted = new Set<KeyObjectKind>();

  get memory(): RecordMemory {
    return this.#table.memory;
  }

  /** Number of objects, revoked ones too. */
  get objects(): number {
    const { key, user, team } = this.#ids;
    return key.length + user.length + team.length;
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
    if (known === undefined) {
      this.#ids[kind].push(id);
      this.#unsorted.add(kind);
    }
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

  /** Lists the objects of a kind whose ID is after another one, by their IDs. */
  *list(kind: KeyObjectKind, after = ""): Generator<KeyObject> {
    // A new list: others may go through the one before.
    if (this.#unsorted.delete(kind)) {
      this.#ids[kind] = this.#ids[kind].toSorted();
    }
    const ids = this.#ids[kind];
    for (let index = firstAfter(ids, after); index < ids.length; index++) {
      const object = this.find(kind, ids[index] ?? "");
      if (object !== undefined) yield object;
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

/** Returns the index of the first of sorted texts that is after another one. */
function firstAfter(texts: readonly string[], text: string): number {
  let from = 0;
  let to = texts.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((texts[middle] ?? "") > text) to = middle;
    else from = middle + 1;
  }
  return from;
}
