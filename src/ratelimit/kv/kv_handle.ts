import { describeError } from "../../base/errors.ts";
import { redactUrl } from "../../base/redaction.ts";

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

/**
 * Opens Deno KV: a file that processes of this machine share, `:memory:`, or the URL of a KV Connect server, to which
 * `DENO_KV_ACCESS_TOKEN` gives access.
 *
 * @throws {Error} With the name of the store, when it cannot be opened.
 */
export async function openKv(path: string): Promise<KvHandle> {
  const kv = await openNamed(path);
  return {
    async read(key) {
      const { value, versionstamp } = await kv.get(key);
      return { value, version: versionstamp };
    },
    async replace(key, version, { value, expireInMs }) {
      const { ok } = await kv.atomic().check({ key, versionstamp: version })
        .set(key, value, { expireIn: expireInMs }).commit();
      return ok;
    },
    list: (prefix, start) =>
      Array.fromAsync(kv.list({ prefix, start }), ({ value }) => value),
    close: () => kv.close(),
  };
}

async function openNamed(path: string): Promise<Deno.Kv> {
  try {
    return await Deno.openKv(path);
  } catch (error) {
    // Not as a cause: `KvStore` detects a locked file by the message.
    throw new Error(
      `Cannot open "${redactUrl(path)}": ${describeError(error)}`,
    );
  }
}
