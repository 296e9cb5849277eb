import assert from "node:assert/strict";
import {
  DeferredLists,
  runInSlices,
  runToEnd,
  Turnstile,
  yieldToEventLoop,
} from "../../../src/base/slices.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";

function* stepsOf(count: number, onStep: (step: number) => void) {
  for (let step = 0; step < count; step++) {
    onStep(step);
    yield;
  }
  return count;
}

Deno.test("runInSlices yields to the event loop every few milliseconds", async () => {
  const clock = new FakeClock();
  const seen: string[] = [];
  setImmediate(() => seen.push("other"));

  const result = await runInSlices(
    stepsOf(10, (step) => {
      seen.push(`step ${step}`);
      clock.advance(4);
    }),
    clock,
  );

  assert.equal(result, 10);
  assert.deepEqual(seen.slice(0, 4), ["step 0", "step 1", "other", "step 2"]);
});

Deno.test("runInSlices stops between two slices once its signal aborts", async () => {
  const clock = new FakeClock();
  const leaving = new AbortController();
  const seen: number[] = [];
  const steps = stepsOf(10, (step) => {
    seen.push(step);
    clock.advance(10);
    if (step === 2) leaving.abort(new Error("gone"));
  });

  await assert.rejects(runInSlices(steps, clock, leaving.signal), /gone/);

  assert.deepEqual(seen, [0, 1, 2]);
});

Deno.test("runToEnd runs all steps without yielding", () => {
  const seen: number[] = [];

  assert.equal(runToEnd(stepsOf(3, (step) => seen.push(step))), 3);
  assert.deepEqual(seen, [0, 1, 2]);
});

Deno.test("runInSlices lets network input be read between slices", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  using client = await Deno.connect({ port: listener.addr.port });
  using server = await listener.accept();
  const byte = new Uint8Array(1);
  const clock = new FakeClock();
  let exchanges = 0;
  let isOver = false;
  const exchange = async () => {
    while (!isOver) {
      const reading = server.read(byte);
      await client.write(byte);
      await reading;
      exchanges++;
    }
  };
  const exchanging = exchange();

  await runInSlices(stepsOf(200, () => clock.advance(10)), clock);
  isOver = true;
  await exchanging;

  assert.ok(exchanges > 50, `${exchanges} exchanges in 200 slices`);
});

Deno.test("DeferredLists maps short lists at once and long ones later, also those that turn up then", () => {
  const lists = new DeferredLists();
  const double = (value: number): number => 2 * value;
  const short = lists.fill([], [1, 2, 3], double);
  const inner: number[] = [];
  const long = lists.fill<number, number>(
    [],
    Array(100).keys().toArray(),
    (value, index) => {
      if (index === 99) lists.fill(inner, Array(50).fill(1), double);
      return value + 1;
    },
  );

  assert.deepEqual([short, long, inner], [[2, 4, 6], [], []]);
  const steps = [...lists.run()].length;
  assert.ok(steps >= 150 / 16, `${steps} steps`);
  assert.deepEqual(long, Array(100).keys().map((value) => value + 1).toArray());
  assert.deepEqual(inner, Array(50).fill(2));
});

Deno.test("Turnstile lets one task pass per turn, in the order of arrival", async () => {
  const turnstile = new Turnstile();
  const passed: string[] = [];
  const pass = async (name: string) => {
    await turnstile.pass();
    passed.push(name);
  };

  const all = Promise.all(["a", "b", "c"].map(pass));
  assert.deepEqual(passed, []);
  await yieldToEventLoop();
  assert.ok(passed.length <= 1);
  await all;

  assert.deepEqual(passed, ["a", "b", "c"]);
  await pass("d");
  assert.equal(passed.length, 4);
});

Deno.test("yieldToEventLoop lets as many turns pass as Deno may need to poll for I/O", async () => {
  let turns = 0;
  let yields = true;
  const count = () => {
    turns++;
    if (yields) setImmediate(count);
  };
  setImmediate(count);

  await yieldToEventLoop();
  yields = false;

  assert.ok(turns >= 60, `${turns} turns`);
});
