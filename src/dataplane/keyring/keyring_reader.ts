import {
  createCaller,
  type KeyCaller,
  teamOf,
} from "../../policy/keys/key_caller.ts";
import type { StoredKeys } from "../../policy/keys/stored_keys.ts";
import type { KeyObject } from "../../policy/keys/key_objects.ts";
import {
  digestOf,
  hashOf,
  objectAt,
  secretAt,
  wordsOfHash,
  wordsOfHex,
} from "./decode_key_record.ts";
import { RecentValues } from "./recent_values.ts";
import { type RecordMemory, RecordTable } from "./record_table.ts";

/** Callers that are kept; others are read from the table again. */
const MAX_CALLERS = 10_000;
/** Users and teams that are kept. */
const MAX_OWNERS = 2000;

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

/** A user or a team as it was read last. */
interface KnownOwner extends Version {
  readonly object: KeyObject | undefined;
}

/** The keys in the store, as one thread reads them from the memory of the process. */
export class KeyringReader implements StoredKeys {
  readonly #fetch: () => Promise<RecordMemory>;
  /** By digest of the key. */
  readonly #callers = new RecentValues<KnownCaller>(MAX_CALLERS);
  /** By kind and ID. */
  readonly #owners = new RecentValues<KnownOwner>(MAX_OWNERS);
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
    }
    const found = this.#read(table, wordsOfHex(digest));
    if (found === undefined) {
      return table.state === "current" ? undefined : "unavailable";
    }
    this.#callers.set(digest, { ...found, generation });
    return found.caller;
  }

  async #refetch(): Promise<void> {
    const table = new RecordTable(await this.#fetch());
    this.#table = table;
    this.#callers.clear();
    this.#owners.clear();
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

  /** Reads a caller from a table; `undefined` if no key has the digest. */
  #read(
    table: RecordTable,
    digest: Int32Array,
  ): Pick<KnownCaller, "caller" | "records"> | undefined {
    const place = table.find(digest);
    const secret = secretAt(table, place);
    if (secret === undefined) return undefined;
    const keyDigest = wordsOfHash(secret.key);
    if (keyDigest === undefined) return undefined;
    const keyPlace = table.find(keyDigest);
    const key = objectAt(table, keyPlace);
    if (key === undefined) return undefined;
    const user = this.#owner(table, "user", key.user);
    const team = this.#owner(table, "team", teamOf(key, user?.object));
    const objects = { key, user: user?.object, team: team?.object };
    return {
      caller: createCaller(objects, secret),
      records: [
        { digest, place },
        { digest: keyDigest, place: keyPlace },
        ...user === undefined ? [] : [user],
        ...team === undefined ? [] : [team],
      ],
    };
  }

  /** Returns a user or a team, which many keys have in common. */
  #owner(
    table: RecordTable,
    kind: "user" | "team",
    id: string | undefined,
  ): KnownOwner | undefined {
    if (id === undefined) return undefined;
    const name = `${kind} ${id}`;
    const known = this.#owners.get(name);
    const digest = known?.digest ?? digestOf(hashOf(kind, id));
    const place = table.find(digest);
    if (known?.place === place) return known;
    const owner = { digest, place, object: objectAt(table, place) };
    this.#owners.set(name, owner);
    return owner;
  }
}

function isCurrent(records: readonly Version[], table: RecordTable): boolean {
  return records.every(({ digest, place }) => table.find(digest) === place);
}
