import assert from "node:assert/strict";
import { KvStoredResponses } from "../../../../src/dataplane/state/stores/kv_stored_responses.ts";
import { openKv } from "../../../../src/kv/open_kv.ts";
import { MemoryStoredResponses } from "../../../../src/llm/responses/stored_responses.ts";
import { RedisServer } from "../../../harness/servers/redis_server.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

function create(store: string, open = openKv) {
  const log = new RecordedLog();
  const memory = new MemoryStoredResponses();
  const clock = new FakeClock();
  return {
    log,
    responses: new KvStoredResponses({
      ...{ store, clock, log, memory, open, random: () => 0 },
    }),
  };
}

async function checkTwoProcesses(store: string): Promise<void> {
  const [{ responses: one }, { responses: two, log }] = [
    create(store),
    create(store),
  ];
  // Deno KV has no place for it in one value.
  const long = "ä€ ".repeat(60_000);
  await one.keep("anna.b/1", "a short text");
  await one.keep("anna.b/2", long);
  await one.keep("anna.b/3", "x".repeat(300_000));

  assert.equal(await two.find("anna.b/1"), "a short text");
  assert.equal(await two.find("anna.b/2"), long);
  assert.equal(await two.find("anna.b/3"), undefined);
  assert.equal(await two.find("ben/1"), undefined);
  assert.deepEqual(log.lines, []);
  await Promise.all([one.close(), two.close()]);
}

Deno.test("processes share responses in a file, where they are encrypted", async () => {
  const folder = await Deno.makeTempDir();
  const store = `${folder}/db`;
  await checkTwoProcesses(store);

  using kv = await Deno.openKv(store);
  const entries = await Array.fromAsync(kv.list({ prefix: [] }));
  assert.equal(entries.length > 8, true);
  // Base64 has no dot and no blank: random text cannot have these.
  assert.doesNotMatch(JSON.stringify(entries), /a short text|anna\.b/);
  kv.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("processes share responses in Redis", async () => {
  await using redis = await RedisServer.start();
  await checkTwoProcesses(redis.url);
});

Deno.test("a store that fails leaves a process its own responses", async () => {
  const { responses, log } = create("nowhere", () => {
    throw new Error("refused");
  });

  await responses.keep("anna.b/1", "a short text");

  assert.equal(await responses.find("anna.b/1"), "a short text");
  assert.equal(await responses.find("anna.b/2"), undefined);
  assert.match(log.lines.join(), /Cannot share responses/);
  await responses.close();
});
