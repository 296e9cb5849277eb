import assert from "node:assert/strict";
import process from "node:process";
import { takeCpuProfile } from "../../../../admin/profiles/cpu_of_all_threads.ts";
import { encodePprof } from "../../../../admin/profiles/pprof.ts";
import type { StackProfile } from "../../../../src/telemetry/profiles/stack_profile.ts";
import { FakeDataPlane } from "../../../harness/gateway/fake_data_plane.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { threadLabels } from "../../../harness/parsers/pprof.ts";

/** A clock that makes a profile last as long as `work`. */
class WorkClock extends FakeClock {
  constructor(readonly work: () => Promise<unknown>) {
    super();
  }

  override setTimer(callback: () => void, delayMs: number): () => void {
    const cancel = super.setTimer(callback, delayMs);
    void this.work().then(() => this.advance(delayMs));
    return cancel;
  }
}

async function profileOf(work: () => Promise<unknown>): Promise<StackProfile> {
  const profile = await takeCpuProfile({
    seconds: 1,
    frequency: 1000,
    clock: new WorkClock(work),
    signal: new AbortController().signal,
    workers: new FakeDataPlane(),
  });
  assert.ok(profile !== undefined);
  return profile;
}

/** Returns the milliseconds of CPU time per thread. */
function timeByThread({ samples }: StackProfile): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { thread = "unknown", values } of samples) {
    sums[thread] = (sums[thread] ?? 0) + Number(values.at(-1)) / 1e6;
  }
  return sums;
}

function burnHere(milliseconds: number): void {
  const start = process.threadCpuUsage();
  let used = 0;
  for (let x = 0; used < milliseconds * 1000;) {
    for (let i = 0; i < 10_000; i++) x += Math.sqrt(i);
    const { user, system } = process.threadCpuUsage();
    used = user + system - start.user - start.system + (x < 0 ? 1 : 0);
  }
}

/** Uses CPU time in another thread. */
async function burnElsewhere(milliseconds: number): Promise<void> {
  const program = `import process from "node:process";
${burnHere}
burnHere(${milliseconds});
postMessage("done");`;
  const url = `data:application/javascript,${encodeURIComponent(program)}`;
  const worker = new Worker(url, { type: "module" });
  await new Promise((resolve) => worker.onmessage = resolve);
  worker.terminate();
}

Deno.test("takeCpuProfile reports the functions of this thread", async () => {
  const profile = await profileOf(async () => {
    await Promise.resolve();
    burnHere(200);
  });

  const { main = 0 } = timeByThread(profile);
  const inBurn = profile.samples.filter(({ frames, thread }) =>
    thread === "main" && frames.some(({ name }) => name === "burnHere")
  ).reduce((sum, { values }) => sum + Number(values.at(-1)) / 1e6, 0);
  assert.ok(inBurn > 0.8 * main, `${inBurn} of ${main} ms`);
});

Deno.test("takeCpuProfile counts the CPU time of other threads, such as workers", async () => {
  const profile = await profileOf(() => burnElsewhere(300));

  const { other = 0 } = timeByThread(profile);
  assert.ok(other > 250, `${other} ms`);
  assert.deepEqual(
    profile.samples.filter(({ thread }) => thread === "other")
      .map(({ frames }) => frames.map(({ name }) => name)),
    [["(other threads)"]],
  );
});

Deno.test("a profile labels samples with their thread", async () => {
  const profile = await profileOf(() => {
    const elsewhere = burnElsewhere(50);
    burnHere(50);
    return elsewhere;
  });

  const packed = await encodePprof(profile);

  assert.deepEqual(
    threadLabels(await new Response(packed).bytes()),
    ["main", "other"],
  );
});

Deno.test("takeCpuProfile stops when its signal aborts", async () => {
  const client = new AbortController();
  const clock = new WorkClock(() => {
    client.abort();
    return new Promise(() => {});
  });

  const { signal } = client;
  const options = {
    seconds: 300,
    frequency: 1,
    clock,
    signal,
    workers: new FakeDataPlane(),
  };

  assert.equal(await takeCpuProfile(options), undefined);
  assert.equal(clock.pending, 0);
});
