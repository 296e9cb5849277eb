import { describeError } from "../base/errors.ts";
import { redactUrl } from "../base/redaction.ts";
import type { KvHandle } from "./kv_handle.ts";

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
    async replace(key, version, { value, expireInMs }) {
      const { ok } = await kv.atomic().check({ key, versionstamp: version })
        .set(
          key,
          value,
          expireInMs === undefined ? {} : { expireIn: expireInMs },
        )
        .commit();
      return ok;
    },
    list: (prefix, since) =>
      Array.fromAsync(
        kv.list({ prefix, start: [...prefix, since] }),
        ({ value }) => value,
      ),
    delete: (key) => kv.delete(key),
    close: () => kv.close(),
  };
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
