/** Keys that are created, rotated and revoked under load at four gateways that share a store. */
import { cpuUsage } from "node:process";
import { KeyringReader } from "../../src/dataplane/keyring/keyring_reader.ts";
import { manyKeys } from "../harness/keys/many_keys.ts";
import { KeyFleet } from "../harness/keys/key_fleet.ts";
import { RedisServer } from "../harness/servers/redis_server.ts";
import type { Finding } from "./drill.ts";

/** `KEYS=10000` makes the drill longer. */
const KEYS = Number(Deno.env.get("KEYS") ?? 1000);
const GATEWAYS = 4;
const BUDGET = 4000;

/** Changes keys on Redis and on Deno KV, with and without a SIGKILL of one gateway. */
export async function changedKeys(): Promise<Finding[]> {
  const folder = await Deno.makeTempDir();
  await using redis = await RedisServer.start();
  const findings: Finding[] = [];
  for (const kills of [false, true]) {
    const name = kills ? ", one killed" : "";
    const stores = {
      "Deno KV": { path: `${folder}/${kills}.db` },
      Redis: { redis: `${redis.url}/${kills ? 1 : 0}` },
    };
    for (const [store, kv] of Object.entries(stores)) {
      const startedAt = performance.now();
      const sizes = { gateways: GATEWAYS, keys: KEYS, clients: 6, kills };
      await using fleet = await KeyFleet.start(kv, {
        ...sizes,
        budget: BUDGET,
      });
      const report = await fleet.run();
      const { longestChangeMs, longestLateMs, longestStoreMs, ...others } =
        report;
      const { unexpected, ...counts } = others;
      findings.push({
        drill: `${KEYS} keys at ${GATEWAYS} gateways on ${store}${name}`,
        figures: {
          ...counts,
          longestChange: `${Math.round(longestChangeMs)} ms`,
          longestLate: `${Math.round(longestLateMs)} ms`,
          longestStore: `${Math.round(longestStoreMs)} ms`,
          unexpected: unexpected.slice(0, 5).join(" ") || "none",
          ofBudget: BUDGET,
          took: `${Math.round((performance.now() - startedAt) / 1000)} s`,
        },
      });
    }
  }
  await Deno.remove(folder, { recursive: true });
  return findings;
}

/** Looks up 100,000 keys, each for the first time, and then those that a thread knows; times of the processor. */
export async function manyKeyLookUps(): Promise<Finding[]> {
  const count = 100_000;
  const { table, digestOf } = manyKeys(count);
  const reader = new KeyringReader(() => Promise.resolve(table.memory));
  await reader.ready();
  const digests = Array.from({ length: count }, (_, index) => digestOf(index));
  const microseconds = (some: readonly string[]) => {
    const before = cpuUsage();
    for (const digest of some) reader.find(digest);
    return `${(cpuUsage(before).user / some.length).toFixed(2)} µs`;
  };
  const first = microseconds(digests);
  const known = digests.slice(-5000);
  microseconds(known);
  const figures = {
    memory: `${Math.round(table.bytes / 1e6)} MB`,
    first,
    known: microseconds(known),
    unknown: microseconds(
      known.map((digest) => [...digest].reverse().join("")),
    ),
  };
  return [{
    drill: `${count} keys in memory, look-up after the hash`,
    figures,
  }];
}
