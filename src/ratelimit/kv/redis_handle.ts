import { createClient } from "@redis/client";
import { parseJson } from "../../base/json.ts";
import type { KvHandle } from "./kv_handle.ts";

/** Reads version and value of a record, which are fields of a hash. */
const READ = "return redis.call('HMGET', KEYS[1], 'version', 'value')";

/** Writes a record unless its version is another one: one step for the server, as in `atomic().check()` of Deno KV. */
const REPLACE = `
if (redis.call('HGET', KEYS[1], 'version') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'value', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1`;

const CONNECT_TIMEOUT_MS = 5000;
/** Redis rejects larger ones. */
const LONGEST_EXPIRY_MS = 2 ** 50;

/**
 * Opens a Redis or Valkey server: `redis://` or `rediss://` with user, password and database. Records are hashes under
 * `gateway:<key>`, replaced by a script, so versions work as in Deno KV.
 * @throws {Error} When the server cannot be reached or rejects the credentials.
 */
export async function openRedis(url: string): Promise<KvHandle> {
  const client = createClient({
    url,
    // `KvStore` opens it again after a pause, and decides meanwhile.
    disableOfflineQueue: true,
    socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false },
  });
  // Commands fail with the same error.
  client.on("error", () => {});
  await client.connect();
  return {
    async read(key) {
      const reply: unknown = await client.eval(READ, { keys: [nameOf(key)] });
      const [version, value] = Array.isArray(reply) ? reply : [];
      return typeof version === "string" && typeof value === "string"
        // A value that is no JSON counts as damaged, as other values that no gateway wrote.
        ? { version, value: parseJson(value) ?? "damaged" }
        : { version: null, value: null };
    },
    async replace(key, version, { value, expireInMs }) {
      const reply: unknown = await client.eval(REPLACE, {
        keys: [nameOf(key)],
        arguments: [
          version ?? "",
          crypto.randomUUID(),
          JSON.stringify(value),
          String(Math.ceil(Math.min(expireInMs, LONGEST_EXPIRY_MS))),
        ],
      });
      return reply === 1;
    },
    // Usage, which is listed, stays in Deno KV or in memory.
    list: () => Promise.reject(new Error("Redis keeps limits only")),
    close: () => client.destroy(),
  };
}

function nameOf(key: Deno.KvKey): string {
  return `gateway:${JSON.stringify(key)}`;
}
