import {
  createCaller,
  type KeyCaller,
  teamOf,
} from "../../policy/keys/key_caller.ts";
import type { StoredKeys } from "../../policy/keys/stored_keys.ts";
import {
  digestOf,
  objectAt,
  secretAt,
  wordsOfHex,
} from "./decode_key_record.ts";
import { type RecordMemory, RecordTable } from "./record_table.ts";

/** Callers that are kept; others are read from the table again. */
const MAX_CALLERS = 10_000;

/** A caller, and the records that it was made of. */
interface KnownCaller {
  readonly caller: KeyCaller;
  readonly records: readonly Version[];
  /** Generation of the table at which the records were compared last. */
  generation: number;
}

interface Version {
  readonly digest: Int32Array;
  readonly place: number;
}

/** The keys in the store, as one thread reads them from the memory of the process. */
export class KeyringReader implements StoredKeys {
  readonly #fetch: () => Promise<RecordMemory>;
  /** By digest of the key, the one used last at the end. */
  readonly #callers = new Map<string, KnownCaller>();
  #table: RecordTable | undefined;
  #first: Promise<void> | undefined;

  /** @param fetch Returns the memory once it has been read from the store, or cannot be. */
  constructor(fetch: () => Promise<RecordMemory>) {
    this.#fetch = fetch;
  }

  /** Resolves when the keys are known, or the store could not be reached. */
  ready(): Promise<void> {
    this.#first ??= this.#refetch();
    return this.#first;
  }

  find(digest: string): KeyCaller | "unavailable" | undefined {
    const table = this.#table;
    if (table === undefined) return "unavailable";
    const { generation } = table;
    const known = this.#callers.get(digest);
    if (known !== undefined) {
      if (known.generation === generation) return known.caller;
      if (isCurrent(known.records, table)) {
        known.generation = generation;
        return known.caller;
      }
      this.#callers.delete(digest);
    }
    const found = readCaller(table, wordsOfHex(digest));
    if (found === undefined) {
      return table.state === "current" ? undefined : "unavailable";
    }
    this.#remember(digest, { ...found, generation });
    return found.caller;
  }

  async #refetch(): Promise<void> {
    const table = new RecordTable(await this.#fetch());
    this.#table = table;
    this.#callers.clear();
    void this.#follow(table);
  }

  /** Fetches the next table as soon as there is one. */
  async #follow(table: RecordTable): Promise<void> {
    await table.replaced();
    try {
      await this.#refetch();
    } catch {
      // The thread that has the tables ends, and this one after it.
    }
  }

  #remember(digest: string, known: KnownCaller): void {
    const [oldest] = this.#callers.keys();
    if (oldest !== undefined && this.#callers.size >= MAX_CALLERS) {
      this.#callers.delete(oldest);
    }
    this.#callers.set(digest, known);
  }
}

function isCurrent(records: readonly Version[], table: RecordTable): boolean {
  return records.every(({ digest, place }) => table.find(digest) === place);
}

/** Reads a caller from a table; `undefined` if no key has the digest. */
function readCaller(
  table: RecordTable,
  digest: Int32Array,
): Pick<KnownCaller, "caller" | "records"> | undefined {
  const records: Version[] = [];
  const placeOf = (digest: Int32Array) => {
    const place = table.find(digest);
    records.push({ digest, place });
    return place;
  };
  const secret = secretAt(table, placeOf(digest));
  if (secret === undefined) return undefined;
  const read = (kind: "key" | "user" | "team", id: string | undefined) =>
    id === undefined ? undefined : objectAt(table, placeOf(digestOf(kind, id)));
  const key = read("key", secret.key);
  if (key === undefined) return undefined;
  const user = read("user", key.user);
  const team = read("team", teamOf(key, user));
  return { caller: createCaller({ key, user, team }, secret), records };
}
