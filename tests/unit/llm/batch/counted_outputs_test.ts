import assert from "node:assert/strict";
import {
  createCountedMemory,
  MemoryCountedOutputs,
} from "../../../../src/llm/batch/counted_outputs.ts";
import { KvCountedOutputs } from "../../../../src/dataplane/state/stores/kv_counted_outputs.ts";
import { PatientClock } from "../../../harness/time/patient_clock.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";

Deno.test("an output is claimed once, by whichever thread comes first", async () => {
  const memory = createCountedMemory();
  const [one, two] = [
    new MemoryCountedOutputs(memory),
    new MemoryCountedOutputs(memory),
  ];
  assert.equal(await one.claim("resp_1", 1), 0);
  assert.equal(await two.claim("resp_1", 1), 1);
  assert.equal(await two.claim("resp_2", 1), 0);
  assert.equal(await one.claim("resp_2", 1), 1);
});

Deno.test("the lines of an output are claimed one after the other, and each once", async () => {
  const counted = new MemoryCountedOutputs();
  assert.equal(await counted.count("file"), 0);
  assert.equal(await counted.claim("file", 10), 0);
  assert.equal(await counted.count("file"), 10);
  assert.equal(await counted.claim("file", 30), 10);
  assert.equal(await counted.claim("file", 20), 30);
  assert.equal(await counted.count("file"), 30);
});

Deno.test("the latest thousands of outputs are remembered, and older ones make room", async () => {
  const counted = new MemoryCountedOutputs();
  const claimed = async (from: number, to: number) => {
    let count = 0;
    for (let i = from; i < to; i++) {
      if (await counted.claim(`r${i}`, 1) === 0) count++;
    }
    return count;
  };
  assert.equal(await claimed(0, 2000), 2000);
  assert.equal(await claimed(0, 2000), 0);
  assert.equal(await claimed(2000, 100_000), 98_000);
  assert(await claimed(0, 2000) > 500);
});

function openShared(store: string) {
  const log = new RecordedLog();
  const counted = new KvCountedOutputs({
    store,
    clock: new PatientClock(),
    log,
    random: Math.random,
    memory: new MemoryCountedOutputs(),
  });
  return { counted, log };
}

Deno.test("processes with one store claim an output once, and remember it after a restart", async () => {
  const directory = await Deno.makeTempDir();
  const one = openShared(`${directory}/kv.sqlite`);
  const two = openShared(`${directory}/kv.sqlite`);
  const claims = await Promise.all(
    [one, two].map(({ counted }) => counted.claim("resp_1", 1)),
  );
  await one.counted.close();
  await two.counted.close();

  const three = openShared(`${directory}/kv.sqlite`);
  const count = await three.counted.count("resp_1");
  await three.counted.close();

  assert.deepEqual(claims.sort(), [0, 1]);
  assert.equal(count, 1);
  assert.deepEqual(
    [...one.log.lines, ...two.log.lines, ...three.log.lines],
    [],
  );
  await Deno.remove(directory, { recursive: true });
});

Deno.test("a process whose store fails claims an output once, and warns", async () => {
  const { counted, log } = openShared("/nonexistent/kv.sqlite");

  assert.equal(await counted.claim("resp_1", 1), 0);
  assert.equal(await counted.claim("resp_1", 1), 1);
  assert.equal(await counted.count("resp_1"), 1);
  assert.match(log.messages("warn")[0] ?? "", /may charge them again/);
  await counted.close();
});
