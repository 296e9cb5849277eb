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
  /** Makes all changes at once, unless one of the entries changed since its version was read; returns whether it did. */
  commit(changes: readonly KvChange[]): Promise<boolean>;
  /**
   * Returns the values whose keys begin with `prefix` and a time from `since` on, in that order; they were written with `listed`.
   * @param limit Maximum number; default all.
   */
  list(
    prefix: Deno.KvKey,
    since: number,
    limit?: number,
  ): Promise<readonly unknown[]>;
  delete(key: Deno.KvKey): Promise<void>;
  close(): void;
}

/** A value and its version; both are `null` when there is none. */
export interface KvEntry {
  readonly value: unknown;
  readonly version: string | null;
}

/** A change of an entry that `commit` makes with others. */
export interface KvChange {
  readonly key: Deno.KvKey;
  /** Version that the entry must have, `null` if it must not exist; not set if any will do. */
  readonly version?: string | null;
  /** Deletes the entry unless set. */
  readonly next?: Replacement;
  /** Prefix under which an entry to delete is listed. */
  readonly listedIn?: Deno.KvKey;
}

/** A new value for an entry. */
export interface Replacement {
  readonly value: unknown;
  /** Time after which the entry may be deleted; default never. */
  readonly expireInMs?: number;
  /** The entry is listed: the key begins with `prefix` and this time, in milliseconds since the epoch. */
  readonly listed?: { readonly prefix: Deno.KvKey; readonly time: number };
}

/** Closes a store that has opened, is about to, or has failed. */
export async function closeOnceOpen(
  opening: Promise<KvHandle> | undefined,
): Promise<void> {
  try {
    (await opening)?.close();
  } catch {
    // It never opened, or its failure closed it.
  }
}
