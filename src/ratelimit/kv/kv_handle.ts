/** Operations on a key-value store that several processes share. */
export interface KvHandle {
  /** Returns the value, and the version to pass to `replace`. */
  read(key: Deno.KvKey): Promise<KvEntry>;
  /** Writes unless the entry changed since `version` was read; returns whether it wrote. */
  replace(
    key: Deno.KvKey,
    version: string | null,
    next: Replacement,
  ): Promise<boolean>;
  /** Returns the values whose keys begin with `prefix`, from `start` on. */
  list(prefix: Deno.KvKey, start: Deno.KvKey): Promise<readonly unknown[]>;
  close(): void;
}

/** A value and its version; both are `null` when there is none. */
export interface KvEntry {
  readonly value: unknown;
  readonly version: string | null;
}

/** A new value for an entry. */
export interface Replacement {
  readonly value: unknown;
  /** Time after which the entry may be deleted. */
  readonly expireInMs: number;
}
