import type {
  KeyObject,
  KeyObjectKind,
} from "../../policy/keys/key_objects.ts";
import {
  digestOf,
  findObject,
  hashOf,
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
  /** Search texts by kind, sorted, which is by ID; no object is ever removed. */
  readonly #texts: Record<KeyObjectKind, readonly string[]> = {
    key: [],
    user: [],
    team: [],
  };
  /** Search texts by ID that are not among the sorted ones yet. */
  readonly #newTexts: Record<KeyObjectKind, Map<string, string>> = {
    key: new Map(),
    user: new Map(),
    team: new Map(),
  };
  #objects = 0;
  #textBytes = 0;

  get memory(): RecordMemory {
    return this.#table.memory;
  }

  /** Number of objects, revoked ones too. */
  get objects(): number {
    return this.#objects;
  }

  /** Size of the memory in bytes. */
  get bytes(): number {
    return this.#table.bytes + this.#textBytes;
  }

  get isFull(): boolean {
    return this.bytes >= MAX_BYTES;
  }

  find(kind: KeyObjectKind, id: string): KeyObject | undefined {
    return findObject(this.#table, kind, id);
  }

  /** Returns the ID of the key with a secret of this hash. */
  ownerOf(hash: string): string | undefined {
    const secret = this.#placeOf(hash);
    const key = this.#placeOf(secretAt(this.#table, secret)?.key);
    return objectAt(this.#table, key)?.id;
  }

  /** Sets an object, unless a later version of it is known. */
  set(object: KeyObject): void {
    const { kind, id, sequence } = object;
    // Once: computing it takes as long as the rest.
    const hash = hashOf(kind, id);
    const own = digestOf(hash);
    const known = objectAt(this.#table, this.#table.find(own));
    if (known !== undefined && known.sequence >= sequence) return;
    if (known === undefined) this.#objects++;
    this.#setText(object, known);
    const hashes = new Set(object.secrets?.map(({ hash }) => hash));
    for (const { hash } of known?.secrets ?? []) {
      const digest = hashes.has(hash) ? undefined : wordsOfHash(hash);
      if (digest !== undefined) this.#table.delete(digest);
    }
    this.#write(own, object);
    for (const secret of object.secrets ?? []) {
      const digest = wordsOfHash(secret.hash);
      if (digest === undefined) continue;
      this.#write(digest, { key: hash, expiresAt: secret.expiresAt });
    }
  }

  /** Lists the objects of a kind whose ID is after another one, by their IDs. */
  *list(kind: KeyObjectKind, after = ""): Generator<KeyObject> {
    for (const text of this.texts(kind, after)) {
      const object = this.find(kind, idOfText(text));
      if (object !== undefined) yield object;
    }
  }

  /**
   * Lists the search texts of a kind whose ID is after another one, by their IDs: ID, name, team, user and beginnings of keys in
   * lower case, each followed by a line feed. Reading a text is far cheaper than reading its object.
   */
  *texts(kind: KeyObjectKind, after = ""): Generator<string> {
    const texts = this.#sortedTexts(kind);
    // No ID has a character before `-`: this is after all texts of an ID, and before those of longer IDs.
    let index = firstAfter(texts, `${after}\v`);
    for (; index < texts.length; index++) yield texts[index] ?? "";
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

  /** Returns the place of the record with a hash; 0 if there is none. */
  #placeOf(hash: string | undefined): number {
    const digest = hash === undefined ? undefined : wordsOfHash(hash);
    return digest === undefined ? 0 : this.#table.find(digest);
  }

  #setText(object: KeyObject, known: KeyObject | undefined): void {
    const text = searchText(object);
    const before = known === undefined ? "" : searchText(known);
    if (text === before) return;
    this.#newTexts[object.kind].set(object.id, text);
    this.#textBytes += textBytes(text) - textBytes(before);
  }

  /** Returns a new list after each change: others may go through the one before. */
  #sortedTexts(kind: KeyObjectKind): readonly string[] {
    const added = this.#newTexts[kind];
    if (added.size === 0) return this.#texts[kind];
    const kept = this.#texts[kind].filter((text) => !added.has(idOfText(text)));
    const sorted = [...kept, ...added.values()].sort();
    this.#texts[kind] = sorted;
    added.clear();
    return sorted;
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

/** Returns the ID of the object of a search text. */
export function idOfText(text: string): string {
  return text.slice(0, text.indexOf("\n"));
}

function searchText({ id, name, team, user, secrets = [] }: KeyObject): string {
  const prefixes = secrets.map(({ prefix }) => prefix);
  return [id, name ?? "", team ?? "", user ?? "", ...prefixes, ""].join("\n")
    .toLowerCase();
}

/** Header of a string and its place in a list. */
const TEXT_HEADER = 24;

/** Returns the approximate size of a text in bytes. */
function textBytes(text: string): number {
  return text === "" ? 0 : TEXT_HEADER + text.length;
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
