import { createClient } from "@redis/client";
import { parseJson } from "../base/json.ts";
import type { KvChange, KvHandle } from "./kv_handle.ts";

/** Reads version and value of a record, which are fields of a hash. */
const READ = "return redis.call('HMGET', KEYS[1], 'version', 'value')";

/**
 * Writes a record unless its version is another one: one step for the server, as in `atomic().check()` of Deno KV. A record that is
 * listed is in a sorted set, too, which loses the records that have expired.
 */
const REPLACE = `
if (redis.call('HGET', KEYS[1], 'version') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'value', ARGV[3])
if ARGV[4] == '' then redis.call('PERSIST', KEYS[1])
else redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
if KEYS[2] then
  redis.call('ZADD', KEYS[2], ARGV[5], KEYS[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[5] - ARGV[4])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
return 1`;

/**
 * Makes several changes, each with two keys (its record, and the sorted set that lists it or the record again) and five arguments:
 * the version that it must have after `=` or nothing, its new version or nothing to delete it, value, expiry, time in the list.
 */
const COMMIT = `
for i = 1, #KEYS / 2 do
  local expected = ARGV[5 * i - 4]
  if expected ~= '' and expected ~= '=' .. (redis.call('HGET', KEYS[2 * i - 1], 'version') or '') then return 0 end
end
for i = 1, #KEYS / 2 do
  local record, list, at = KEYS[2 * i - 1], KEYS[2 * i], 5 * i - 4
  if ARGV[at + 1] == '' then
    redis.call('DEL', record)
    redis.call('ZREM', list, record)
  else
    redis.call('HSET', record, 'version', ARGV[at + 1], 'value', ARGV[at + 2])
    if ARGV[at + 3] == '' then redis.call('PERSIST', record)
    else redis.call('PEXPIRE', record, ARGV[at + 3]) end
    if ARGV[at + 4] ~= '' then
      redis.call('ZADD', list, ARGV[at + 4], record)
      if ARGV[at + 3] ~= '' then redis.call('PEXPIRE', list, ARGV[at + 3]) end
    end
  end
end
return 1`;

/** Records that are read together. */
const LIST_BATCH = 500;

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
        ? { version, value: decode(value) }
        : { version: null, value: null };
    },
    async replace(key, version, { value, expireInMs, listed }) {
      const reply: unknown = await client.eval(REPLACE, {
        keys: [nameOf(key), ...listed ? [nameOf(listed.prefix)] : []],
        arguments: [
          version ?? "",
          crypto.randomUUID(),
          JSON.stringify(value),
          expiryText(expireInMs),
          ...listed ? [String(listed.time)] : [],
        ],
      });
      return reply === 1;
    },
    async commit(changes) {
      const reply: unknown = await client.eval(COMMIT, {
        keys: changes.flatMap(({ key, next, listedIn }) => {
          const list = next?.listed?.prefix ?? listedIn ?? key;
          return [nameOf(key), nameOf(list)];
        }),
        arguments: changes.flatMap(argumentsOf),
      });
      return reply === 1;
    },
    async list(prefix, since, limit) {
      const names = await client.zRange(nameOf(prefix), since, "+inf", {
        BY: "SCORE",
        ...(limit !== undefined && { LIMIT: { offset: 0, count: limit } }),
      });
      return await valuesOf(names, (name) => client.hGet(name, "value"));
    },
    async delete(key) {
      await client.del(nameOf(key));
    },
    close: () => client.destroy(),
  };
}

/** Reads records in batches; those without a value have expired. */
async function valuesOf(
  names: readonly string[],
  read: (name: string) => Promise<unknown>,
): Promise<readonly unknown[]> {
  const values: unknown[] = [];
  for (let first = 0; first < names.length; first += LIST_BATCH) {
    const batch = names.slice(first, first + LIST_BATCH);
    const found = await Promise.all(batch.map(read));
    const texts = found.filter((text) => typeof text === "string");
    values.push(...texts.map(decode));
  }
  return values;
}

function argumentsOf({ version, next }: KvChange): readonly string[] {
  return [
    version === undefined ? "" : `=${version ?? ""}`,
    ...next === undefined ? ["", "", "", ""] : [
      crypto.randomUUID(),
      JSON.stringify(next.value),
      expiryText(next.expireInMs),
      next.listed === undefined ? "" : String(next.listed.time),
    ],
  ];
}

function expiryText(expireInMs: number | undefined): string {
  return expireInMs === undefined
    ? ""
    : String(Math.ceil(Math.min(expireInMs, LONGEST_EXPIRY_MS)));
}

function nameOf(key: Deno.KvKey): string {
  return `gateway:${JSON.stringify(key)}`;
}

/** A value that is no JSON counts as damaged, as other values that no gateway wrote. */
function decode(value: string): unknown {
  const decoded = parseJson(value);
  return decoded === undefined ? "damaged" : decoded;
}
