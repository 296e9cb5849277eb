import assert from "node:assert/strict";
import { createLogger } from "../../../../src/base/log/log.ts";
import { parseLogFilter } from "../../../../src/base/log/log_filter.ts";
import type { ServiceDescriptor } from "../../../../src/ratelimit/service/service_messages.ts";
import { UsageReports } from "../../../../src/ratelimit/service/service_reports.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const MINUTE_MS = 60_000;

/** Token reports to a service that accepts them unless it is down. */
function setUp(capacity?: number) {
  const clock = new FakeClock();
  const service = {
    isDown: false,
    taken: [] as number[],
    tries: [] as number[],
  };
  const logLines: string[] = [];
  const logger = createLogger({
    write: (line) => logLines.push(line),
    clock,
    format: "text",
    filter: parseLogFilter("warn"),
  });
  const reports = new UsageReports({
    send({ hitsAddend }: ServiceDescriptor) {
      service.tries.push(clock.monotonic());
      if (service.isDown) return Promise.reject(new Error("down"));
      service.taken.push(hitsAddend);
      return Promise.resolve();
    },
    clock,
    log: logger.module("ratelimit"),
    ...(capacity !== undefined && { capacity }),
  });
  function add(tokens: number): void {
    reports.add({
      descriptor: {
        entries: [],
        limit: { perUnit: 1, unit: 2 },
        hitsAddend: tokens,
      },
      expiresAt: clock.monotonic() + MINUTE_MS,
    });
  }
  return { clock, service, logLines, reports, add };
}

/** Runs all pending promise callbacks. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

Deno.test("UsageReports sends a report immediately", async () => {
  const { reports, service, add } = setUp();

  add(5);
  await settle();

  assert.deepEqual(service.taken, [5]);
  assert.deepEqual(reports.counters, {
    reportedTokens: 5,
    droppedReports: 0,
    droppedTokens: 0,
    pendingReports: 0,
  });
});

Deno.test("UsageReports retries with exponential back-off, at most a second", async () => {
  const { clock, service, add } = setUp();
  service.isDown = true;
  add(5);
  await settle();

  for (let i = 0; i < 400; i++) {
    clock.advance(10);
    await settle();
  }

  assert.deepEqual(service.tries, [0, 50, 150, 350, 750, 1550, 2550, 3550]);
});

Deno.test("UsageReports delivers each report once when the service is back", async () => {
  const { clock, reports, service, add } = setUp();
  service.isDown = true;
  for (let tokens = 1; tokens <= 100; tokens++) add(tokens);
  await settle();

  service.isDown = false;
  clock.advance(1000);
  for (let i = 0; i < 20; i++) await settle();

  assert.deepEqual(
    service.taken.toSorted((a, b) => a - b),
    Array.from({ length: 100 }, (_, i) => i + 1),
  );
  assert.equal(reports.counters.reportedTokens, 5050);
});

Deno.test("UsageReports drops a report whose window is over, counts and logs it", async () => {
  const { clock, reports, service, logLines, add } = setUp();
  service.isDown = true;
  add(7);
  await settle();

  for (let i = 0; i < 62; i++) {
    clock.advance(1000);
    await settle();
  }
  service.isDown = false;
  clock.advance(1000);
  await settle();

  assert.deepEqual(service.taken, []);
  assert.equal(reports.counters.droppedReports, 1);
  assert.equal(reports.counters.droppedTokens, 7);
  assert.equal(reports.counters.pendingReports, 0);
  assert.match(logLines.join(""), /Dropped reports.*reports=1.*tokens=7/);
});

Deno.test("UsageReports keeps reports up to its capacity and logs the others together", async () => {
  const { clock, reports, service, logLines, add } = setUp(10);
  service.isDown = true;
  add(1);
  await settle();

  for (let i = 0; i < 30; i++) add(1);
  clock.advance(1000);

  assert.equal(reports.counters.pendingReports, 10);
  assert.equal(reports.counters.droppedReports, 21);
  assert.equal(logLines.length, 1);
  assert.match(logLines.join(""), /reports=21/);
});

Deno.test("UsageReports waits on close for reports in flight", async () => {
  const { reports, service, clock, add } = setUp();
  service.isDown = true;
  add(3);
  await settle();

  const closing = reports.close(1000);
  service.isDown = false;
  clock.advance(50);
  await closing;

  assert.deepEqual(service.taken, [3]);
  assert.equal(reports.counters.droppedReports, 0);
  assert.equal(clock.pending, 0);
});

Deno.test("UsageReports drops unsent reports after the grace period", async () => {
  const { reports, service, clock, logLines, add } = setUp();
  service.isDown = true;
  add(3);
  await settle();

  const closing = reports.close(1000);
  clock.advance(1000);
  await closing;
  add(4);

  assert.equal(reports.counters.droppedTokens, 7);
  assert.match(logLines.join(""), /tokens=3/);
  assert.match(logLines.join(""), /tokens=4/);
  assert.equal(clock.pending, 0);
});
