import type { Clock } from "../base/clock.ts";
import type { KvEntry, KvHandle, Replacement } from "./kv_handle.ts";
import type { KvStore } from "./kv_store.ts";

/** Entries that are replaced by compare-and-swap. */
export type KvRecords = Pick<KvHandle, "read" | "replace">;

/** Attempts to replace an entry while others replace it too. */
const MAX_ATTEMPTS = 50;

/** Replaces entries until nobody else has done so in between; see `KvStore.update`. */
export function updating(records: KvRecords): Pick<KvStore, "update"> {
  return {
    async update(key, change) {
      for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
        const { value, version } = await records.read(key);
        const next = change(value);
        if (next === undefined) return;
        if (await records.replace(key, version, next)) return;
      }
      throw new Error(`Cannot write: ${MAX_ATTEMPTS} others wrote first`);
    },
  };
}

interface MemoryEntry {
  readonly value: unknown;
  readonly version: string;
  readonly length: number;
  readonly expiresAt: number;
}

const MAX_LENGTH = 64 * 1024 * 1024;
/** Key, version and times of an entry. */
const ENTRY_LENGTH = 256;

/** Keeps records in the memory of this process. */
export class MemoryRecords implements KvRecords {
  readonly #clock: Clock;
  readonly #maxLength: number;
  readonly #entries = new Map<string, MemoryEntry>();
  #length = 0;
  #versions = 0;

  /** @param maxLength Limit of all values as JSON. */
  constructor(clock: Clock, maxLength = MAX_LENGTH) {
    this.#clock = clock;
    this.#maxLength = maxLength;
  }

  read(key: Deno.KvKey): Promise<KvEntry> {
    const entry = this.#entries.get(nameOf(key));
    const { value, version } = entry !== undefined && this.#isCurrent(entry)
      ? entry
      : { value: null, version: null };
    return Promise.resolve({ value, version });
  }

  /** Rejects when the memory is full: an entry that others rely on is never dropped. */
  replace(
    key: Deno.KvKey,
    version: string | null,
    { value, expireInMs = Infinity }: Replacement,
  ): Promise<boolean> {
    const name = nameOf(key);
    const known = this.#entries.get(name);
    const current = known !== undefined && this.#isCurrent(known)
      ? known.version
      : null;
    if (current !== version) return Promise.resolve(false);
    this.#delete(name);
    const length = ENTRY_LENGTH + name.length + JSON.stringify(value).length;
    if (this.#length + length > this.#maxLength) this.#forgetExpired();
    if (this.#length + length > this.#maxLength) {
      if (known !== undefined) this.#add(name, known);
      return Promise.reject(new Error("too many records are in use"));
    }
    this.#add(name, {
      value,
      version: String(++this.#versions),
      length,
      expiresAt: this.#clock.now() + expireInMs,
    });
    return Promise.resolve(true);
  }

  #isCurrent({ expiresAt }: MemoryEntry): boolean {
    return this.#clock.now() < expiresAt;
  }

  #add(name: string, entry: MemoryEntry): void {
    this.#entries.set(name, entry);
    this.#length += entry.length;
  }

  #delete(name: string): void {
    this.#length -= this.#entries.get(name)?.length ?? 0;
    this.#entries.delete(name);
  }

  #forgetExpired(): void {
    for (const [name, entry] of this.#entries) {
      if (!this.#isCurrent(entry)) this.#delete(name);
    }
  }
}

function nameOf(key: Deno.KvKey): string {
  return JSON.stringify(key);
}
