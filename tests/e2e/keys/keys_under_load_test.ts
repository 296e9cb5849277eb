import assert from "node:assert/strict";
import { type FleetStore, KeyFleet } from "../../harness/keys/key_fleet.ts";
import { RedisServer } from "../../harness/servers/redis_server.ts";

const BUDGET = 400;
/** A process that is killed takes a lease with it, and the requests that wait for one. */
const LEASE = BUDGET / 8;

/** `make drills ARGS=keys` does the same with 1000 keys and four gateways, and prints when changes are in force. */
async function testUnderLoad(kv: FleetStore): Promise<void> {
  await using fleet = await KeyFleet.start(kv, {
    gateways: 3,
    keys: 40,
    clients: 3,
    budget: BUDGET,
    kills: true,
  });
  const { requests, admitted, lost, ...report } = await fleet.run();
  assert.deepEqual(report.unexpected, []);
  assert.equal(report.wrongAtTheEnd, 0);
  // A busy machine takes longer than the second in which changes are in force.
  assert(report.longestLateMs < 5000, JSON.stringify(report));
  assert(requests > 80, String(requests));
  assert(admitted <= BUDGET, `${admitted} of ${BUDGET} admitted`);
  assert(
    admitted + lost >= BUDGET - LEASE,
    `only ${admitted} of ${BUDGET} admitted, ${lost} lost`,
  );
}

Deno.test("keys that change under load are right in all processes soon after, and budgets hold when one is killed, with Deno KV", async () => {
  const folder = await Deno.makeTempDir();
  await testUnderLoad({ path: `${folder}/keys.db` });
  await Deno.remove(folder, { recursive: true });
});

Deno.test("keys that change under load are right in all processes soon after, and budgets hold when one is killed, with Redis", async () => {
  await using redis = await RedisServer.start();
  await testUnderLoad({ redis: redis.url });
});
