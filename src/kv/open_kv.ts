import { describeError } from "../base/errors.ts";
import { redactUrl } from "../base/redaction.ts";
import type { KvHandle, Replacement } from "./kv_handle.ts";

/**
 * Opens Deno KV: a file that processes of this machine share, `:memory:`, or the URL of a KV Connect server, to which
 * `DENO_KV_ACCESS_TOKEN` gives access. `redis://` and `rediss://` are Redis or Valkey servers.
 *
 * @throws {Error} With the name of the store, when it cannot be opened.
 */
export async function openKv(path: string): Promise<KvHandle> {
  if (/^rediss?:/i.test(path)) return await openNamedRedis(path);
  const kv = await openNamed(path);
  return {
    async read(key) {
      const { value, versionstamp } = await kv.get(key);
      return { value, version: versionstamp };
    },
    async replace(key, version, next) {
      const { ok } = await kv.atomic().check({ key, versionstamp: version })
        .set(key, next.value, expiryOf(next))
        .commit();
      return ok;
    },
    async commit(changes) {
      const atomic = kv.atomic();
      for (const { key, version, next } of changes) {
        if (version !== undefined) atomic.check({ key, versionstamp: version });
        if (next === undefined) atomic.delete(key);
        else atomic.set(key, next.value, expiryOf(next));
      }
      return (await atomic.commit()).ok;
    },
    list: (prefix, since, limit) =>
      Array.fromAsync(
        kv.list(
          { prefix, start: [...prefix, since] },
          limit === undefined ? {} : { limit },
        ),
        ({ value }) => value,
      ),
    delete: (key) => kv.delete(key),
    close: () => kv.close(),
  };
}

function expiryOf({ expireInMs }: Replacement): { expireIn?: number } {
  return expireInMs === undefined ? {} : { expireIn: expireInMs };
}

async function openNamedRedis(url: string): Promise<KvHandle> {
  const { openRedis } = await import("./redis_handle.ts");
  try {
    return await openRedis(url);
  } catch (error) {
    throw new Error(
      `Cannot open "${redactUrl(url)}": ${describeError(error)}`,
    );
  }
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
