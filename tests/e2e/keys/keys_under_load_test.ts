import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  keyedPolicies,
  statusOf,
  untilStatus,
} from "../../harness/gateway/stored_keys.ts";
import { RedisServer } from "../../harness/servers/redis_server.ts";

const KEYS = 40;
const CLIENTS = 3;
/** Changes are in force within a second; a busy machine takes longer. */
const GRACE_MS = 5000;

/** A key, and when its status changed last. */
interface Known {
  readonly key: string;
  status: 200 | 401;
  since: number;
}

/** Responses that were those of before a change. */
interface Lateness {
  requests: number;
  readonly unexpected: string[];
}

async function change(
  { admin }: GatewayProcess,
  path: string,
  body: unknown = {},
): Promise<{ readonly id: string; readonly secret: string }> {
  const response = await fetch(`${admin}/access/keys${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const { object, secret } = JSON.parse(text);
  return { id: object.id, secret };
}

/** Sends requests with all keys to both gateways until `isDone`. */
async function sendAll(
  gateways: readonly GatewayProcess[],
  keys: readonly Known[],
  isDone: () => boolean,
): Promise<Lateness> {
  const lateness: Lateness = { requests: 0, unexpected: [] };
  const run = async (client: number) => {
    for (let turn = client; !isDone(); turn++) {
      const known = keys[turn * 7 % Math.max(1, keys.length)];
      const gateway = gateways[turn % gateways.length];
      if (known === undefined || gateway === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        continue;
      }
      const { status, since } = known;
      const startedAt = performance.now();
      const found = await statusOf(gateway.origin, known.key);
      lateness.requests++;
      // It changed meanwhile.
      if (known.since !== since || found === status) continue;
      const lateMs = startedAt - since;
      if (found !== 200 && found !== 401 || lateMs > GRACE_MS) {
        lateness.unexpected.push(`${found} ${Math.round(lateMs)} ms late`);
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, index) => run(index)));
  return lateness;
}

/** Creates, rotates and revokes keys at both gateways in turn. */
async function changeAll(
  gateways: readonly [GatewayProcess, GatewayProcess],
  keys: Known[],
): Promise<void> {
  for (let index = 0; index < KEYS; index++) {
    const [one, other] = index % 2 === 0 ? gateways : gateways.toReversed();
    assert(one !== undefined && other !== undefined);
    const { id, secret } = await change(one, "");
    const first: Known = { key: secret, status: 200, since: performance.now() };
    keys.push(first);
    const rotated = await change(other, `/${id}`, { action: "rotate" });
    first.status = 401;
    first.since = performance.now();
    const second: Known = {
      key: rotated.secret,
      status: 200,
      since: performance.now(),
    };
    keys.push(second);
    if (index % 3 !== 0) continue;
    await change(one, `/${id}`, { action: "revoke" });
    second.status = 401;
    second.since = performance.now();
  }
}

async function testUnderLoad(kv: object): Promise<void> {
  const config = {
    config: { kv },
    routes: [{ name: "r", policies: keyedPolicies }],
  };
  await using first = await GatewayProcess.start({ config });
  await using second = await GatewayProcess.start({ config });
  const keys: Known[] = [];
  let isDone = false;
  const sending = sendAll([first, second], keys, () => isDone);
  const changing = changeAll([first, second], keys).finally(() =>
    isDone = true
  );
  const [{ requests, unexpected }] = await Promise.all([
    sending,
    changing,
  ]);
  assert.deepEqual(unexpected, []);
  assert(requests > keys.length, String(requests));
  for (const { key, status } of keys) {
    for (const { origin } of [first, second]) {
      await untilStatus(origin, key, status);
    }
  }
}

Deno.test("keys that are made, rotated and revoked under load are right in both processes soon after, with Deno KV", async () => {
  const folder = await Deno.makeTempDir();
  await testUnderLoad({ path: `${folder}/keys.db` });
  await Deno.remove(folder, { recursive: true });
});

Deno.test("keys that are made, rotated and revoked under load are right in both processes soon after, with Redis", async () => {
  await using redis = await RedisServer.start();
  await testUnderLoad({ redis: redis.url });
});
