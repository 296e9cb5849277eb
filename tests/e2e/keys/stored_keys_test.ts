import assert from "node:assert/strict";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";
import {
  create,
  keyedPolicies,
  run,
  statusOf,
  untilStatus,
} from "../../harness/keys/stored_keys.ts";
import { RedisServer } from "../../harness/servers/redis_server.ts";

const routes = [{ name: "r", policies: keyedPolicies }];

/** Runs a test with two gateways, one with two workers, over Deno KV and over Redis. */
function testFleet(
  name: string,
  test: (first: TestGateway, second: TestGateway) => Promise<void>,
): void {
  const startBoth = async (kv: object) => {
    await using first = await startTestGateway({ config: { kv }, routes });
    await using second = await startTestGateway({
      config: { kv, workers: 2 },
      routes,
    });
    await test(first, second);
  };
  Deno.test(`${name}: Deno KV`, async () => {
    const folder = await Deno.makeTempDir();
    await startBoth({ path: `${folder}/keys.db` });
    await Deno.remove(folder, { recursive: true });
  });
  Deno.test(`${name}: Redis`, async () => {
    await using redis = await RedisServer.start();
    await startBoth({ redis: redis.url });
  });
}

testFleet(
  "a key is valid, and no longer, in all processes without a reload",
  async (first, second) => {
    await create(first, "team", { id: "blue" });
    const { object, secret } = await create(first, "key", { team: "blue" });
    const origins = [first.origin, second.origin];

    assert.equal(await statusOf(first.origin, secret), 200);
    await untilStatus(second.origin, secret, 200);
    assert.match(secret, /^gk_[\w-]{43}$/);

    const rotated = await run(second, {
      kind: "key",
      do: "rotate",
      id: object.id,
      overlapMs: 60_000,
    });
    for (const origin of origins) {
      await untilStatus(
        origin,
        rotated.secret,
        200,
      );
    }
    for (const origin of origins) {
      assert.equal(
        await statusOf(origin, secret),
        200,
      );
    }

    await run(first, { kind: "team", do: "suspend", id: "blue" });
    for (const origin of origins) await untilStatus(origin, secret, 401);
    await run(second, { kind: "team", do: "resume", id: "blue" });
    for (const origin of origins) await untilStatus(origin, secret, 200);

    await run(second, { kind: "key", do: "revoke", id: object.id });
    assert.equal(await statusOf(second.origin, secret), 401);
    for (const origin of origins) {
      await untilStatus(origin, secret, 401);
      await untilStatus(origin, rotated.secret, 401);
    }
  },
);

Deno.test("a rotated key is valid for the overlap, and a key until it expires", async () => {
  await using gateway = await startTestGateway({
    config: { kv: { path: ":memory:" } },
    routes,
  });
  const { object, secret } = await create(gateway, "key");
  const { secret: next } = await run(gateway, {
    kind: "key",
    do: "rotate",
    id: object.id,
    overlapMs: 0,
  });
  const expiresAt = new Date(Date.now() + 500).toISOString();
  const { secret: short } = await create(gateway, "key", { expiresAt });

  assert.equal(await statusOf(gateway.origin, secret), 401);
  assert.equal(await statusOf(gateway.origin, next), 200);
  await untilStatus(gateway.origin, short, 401);
});

Deno.test("while the store is away, known keys pass, others get 503, and the gateway says so; afterwards it catches up", async () => {
  await using redis = await RedisServer.start();
  await using gateway = await startTestGateway({
    config: { kv: { redis: redis.url } },
    routes,
  });
  const { object, secret } = await create(gateway, "key");
  await redis.kill();
  await untilStatus(gateway.origin, "gk_another", 503);

  assert.equal(await statusOf(gateway.origin, secret), 200);
  assert.match(
    gateway.gateway.problem() ?? "",
    /^API keys may be out of date: cannot reach the store redis:/,
  );
  const answer = await gateway.gateway.dataPlane.call("keyring", {
    kind: "key",
    do: "revoke",
    id: object.id,
  });
  assert.equal(answer.result, "unavailable");
  assert.match(
    gateway.log.join("\n"),
    /Cannot reach the store of the API keys: those that are known stay valid, others get 503/,
  );

  await redis.restart();
  await untilStatus(gateway.origin, "gk_another", 401);
  assert.equal(gateway.gateway.problem(), undefined);
  await run(gateway, { kind: "key", do: "revoke", id: object.id });
  assert.equal(await statusOf(gateway.origin, secret), 401);
});

Deno.test("a store that is restored from a copy does not bring revoked keys back", async () => {
  await using redis = await RedisServer.start();
  await using gateway = await startTestGateway({
    config: { kv: { redis: redis.url } },
    routes,
  });
  const { object, secret } = await create(gateway, "key");
  const restore = await redis.copy();
  await run(gateway, { kind: "key", do: "revoke", id: object.id });
  const { secret: later } = await create(gateway, "key");
  await restore();
  await untilStatus(gateway.origin, later, 401);

  await untilStatus(gateway.origin, secret, 401);
  await using restarted = await startTestGateway({
    config: { kv: { redis: redis.url } },
    routes,
  });
  await untilStatus(restarted.origin, secret, 401);
  assert.match(
    gateway.log.join("\n"),
    /An object that was revoked came back with the store: revoked again/,
  );
});

testFleet(
  "rotations of a key at the same time all happen, and a revocation ends all of its keys",
  async (first, second) => {
    const { object: { id }, secret } = await create(first, "key");
    await untilStatus(second.origin, secret, 200);
    const rotate = {
      kind: "key",
      do: "rotate",
      id,
      overlapMs: 60_000,
    } as const;

    const rotated = await Promise.all(
      Array.from(
        { length: 20 },
        (_, index) => run(index % 2 === 0 ? first : second, rotate),
      ),
    );
    const [answer] = await Promise.all([
      run(second, { kind: "key", do: "revoke", id }),
      ...[first, second].map(({ gateway }) =>
        gateway.dataPlane.call("keyring", rotate)
      ),
    ]);

    assert.equal(answer.object.status, "revoked");
    const keys = [secret, ...rotated.map((each) => each.secret)];
    for (const { origin } of [first, second]) {
      for (const key of keys) await untilStatus(origin, key, 401);
    }
  },
);
