import assert from "node:assert/strict";
import { KvUsageBook } from "../../../../src/dataplane/state/kv_usage_book.ts";
import { HOUR_MS } from "../../../../src/telemetry/traffic/usage_table.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { until } from "../../../harness/servers/held_upstream.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";

const row = {
  hour: 0,
  key: "team=blue",
  model: "gpt-4o",
  route: "llm",
  requests: 1,
  clientErrors: 0,
  serverErrors: 0,
  inputTokens: 5,
  outputTokens: 7,
  nanoUsd: 9,
  uncounted: 0,
};

Deno.test("a process reads its own use at once, and that of others after two seconds", async () => {
  const folder = await Deno.makeTempDir();
  const clock = new FakeClock();
  const create = () =>
    new KvUsageBook({
      store: `${folder}/db`,
      clock,
      log: new RecordedLog(),
      random: () => 0,
    });
  const [one, two] = [create(), create()];
  const requestsIn = async (book: KvUsageBook) => {
    const rows = await book.read(0);
    return rows.reduce((sum, { requests }) => sum + requests, 0);
  };

  one.add([row]);
  assert.equal(await requestsIn(two), 0);
  // Reading writes what was not written yet.
  assert.equal(await requestsIn(one), 1);
  assert.equal(await requestsIn(two), 1);
  two.add([row, { ...row, hour: HOUR_MS }]);
  assert.equal(await requestsIn(one), 1);
  clock.advance(2000);
  await until(async () => await requestsIn(one) === 3);

  await Promise.all([one.close(), two.close()]);
  await Deno.remove(folder, { recursive: true });
});
