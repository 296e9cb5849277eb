/** Keeps responses for clients that refer to them by id; the names are not secret, the records are. */
export interface StoredResponses {
  /** Keeps a record; resolves when others find it, or cannot wait any longer. Long records are not kept. */
  keep(name: string, record: string): Promise<void>;
  /** Returns a record; `undefined` if there is none any more. */
  find(name: string): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Limits of the characters that are kept, of one record and of all. */
export const MAX_RECORD_LENGTH = 256 * 1024;
const MAX_LENGTH = 16 * 1024 * 1024;

/** Keeps responses in memory; the oldest go first. */
export class MemoryStoredResponses implements StoredResponses {
  readonly #records = new Map<string, string>();
  #length = 0;

  keep(name: string, record: string): Promise<void> {
    const length = name.length + record.length;
    if (length <= MAX_RECORD_LENGTH) {
      this.#delete(name);
      this.#records.set(name, record);
      this.#length += length;
    }
    for (const oldest of this.#records.keys()) {
      if (this.#length <= MAX_LENGTH) break;
      this.#delete(oldest);
    }
    return Promise.resolve();
  }

  find(name: string): Promise<string | undefined> {
    return Promise.resolve(this.#records.get(name));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #delete(name: string): void {
    const record = this.#records.get(name);
    if (record === undefined) return;
    this.#length -= name.length + record.length;
    this.#records.delete(name);
  }
}

/** Keeps nothing. */
export const noStoredResponses: StoredResponses = {
  keep: () => Promise.resolve(),
  find: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};
