import assert from "node:assert/strict";
import { RedisServer } from "../../../harness/servers/redis_server.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";
import { PatientClock } from "../../../harness/time/patient_clock.ts";
import type { GrantRecord } from "../../../../src/identity/oauth/grants/grant_record.ts";
import {
  createMemoryLoginState,
  KvLoginState,
} from "../../../../src/identity/oauth/grants/login_state.ts";

/** A minute after the start of every fake clock. */
const later = new PatientClock().now() + 60_000;

/** A grant of a user. */
const grant: GrantRecord = {
  id: "grant",
  startedAt: 1_000_000,
  issuer: "https://idp.example",
  subject: "anna",
  client: "Editor",
  resource: "https://gw.example/mcp",
  scopes: ["read"],
  usedAt: 1_000_000,
};

/** Two processes with a common store. */
async function checkSharing(store: string): Promise<void> {
  const one = new KvLoginState(store, new PatientClock());
  const two = new KvLoginState(store, new PatientClock());
  try {
    const [first, second] = await Promise.all([one.secret(), two.secret()]);

    assert.equal(first, second);
    assert.equal(await one.grants.spend("code", later), true);
    assert.equal(await two.grants.spend("code", later), false);
    await two.grants.release("code");
    assert.equal(await one.grants.spend("code", later), true);
    assert.equal(await two.grants.isEnded("grant"), false);
    await one.grants.add(grant, later);
    await two.grants.touch(grant, 2_000_000, later);
    const used = { ...grant, usedAt: 2_000_000 };
    assert.deepEqual(await one.grants.list(), [used]);
    await one.grants.end(grant, later);
    await two.grants.end(grant, later);
    assert.equal(await two.grants.isEnded("grant"), true);
    await one.grants.touch(grant, 3_000_000, later);
    await one.grants.add(grant, later);
    assert.deepEqual(await two.grants.list(), []);
    assert.equal(await one.grants.useToken("grant", 0, later), "first");
    assert.equal(await two.grants.useToken("grant", 0, later), "repeated");
    await two.grants.releaseToken("grant", 0, later);
    assert.equal(await one.grants.useToken("grant", 0, later), "first");
    assert.equal(await two.grants.useToken("grant", 1, later), "first");
    assert.equal(await one.grants.useToken("grant", 0, later), "reused");
  } finally {
    await one.close();
    await two.close();
  }
}

Deno.test("KvLoginState gives every process on a file the same secret, codes and grants", async () => {
  const directory = await Deno.makeTempDir();
  await checkSharing(`${directory}/state.sqlite`);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("KvLoginState waits for a new file that other processes have locked", async () => {
  const directory = await Deno.makeTempDir();
  const secrets = await Promise.all(
    Array.from({ length: 16 }, async () => {
      const store = `${directory}/state.sqlite`;
      const state = new KvLoginState(store, new PatientClock());
      const secret = await state.secret();
      await state.close();
      return secret;
    }),
  );

  assert.equal(new Set(secrets).size, 1);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("KvLoginState gives every process on a Redis server the same secret, codes and grants", async () => {
  await using redis = await RedisServer.start();
  await checkSharing(redis.url);
});

Deno.test("KvLoginState rejects while Redis is away, and knows everything when it is back", async () => {
  await using redis = await RedisServer.start();
  const state = new KvLoginState(redis.url, new PatientClock());
  const secret = await state.secret();
  await state.grants.spend("code", later);
  await redis.kill();

  await assert.rejects(state.grants.spend("other", later));
  await assert.rejects(state.grants.isEnded("grant"));
  await redis.restart();

  assert.equal(await state.grants.spend("code", later), false);
  assert.equal(await state.grants.spend("other", later), true);
  const next = new KvLoginState(redis.url, new PatientClock());
  assert.equal(await next.secret(), secret);
  await next.close();
  await state.close();
});

Deno.test("KvLoginState rejects while its store cannot be opened, and works when it can", async () => {
  const directory = await Deno.makeTempDir();
  const state = new KvLoginState(
    `${directory}/missing/state.sqlite`,
    new PatientClock(),
  );
  try {
    await assert.rejects(state.secret());
    await Deno.mkdir(`${directory}/missing`);

    assert.equal((await state.secret()).length, 43);
  } finally {
    await state.close();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("createMemoryLoginState accepts each code once", async () => {
  const { grants } = createMemoryLoginState(
    new PatientClock(),
    new RecordedLog(),
  );

  assert.equal(await grants.spend("code", later), true);
  assert.equal(await grants.spend("code", later), false);
});

Deno.test("createMemoryLoginState warns once that its secret ends with the process", () => {
  const log = new RecordedLog();
  const state = createMemoryLoginState(new PatientClock(), log);

  for (let policy = 0; policy < 3; policy++) state.warnOfLoss();

  assert.equal(log.messages("warn").length, 1);
  assert.match(log.lines.join(), /"stateSecret".*or "config\.kv"/);
});
