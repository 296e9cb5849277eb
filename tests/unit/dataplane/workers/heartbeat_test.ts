import assert from "node:assert/strict";
import {
  createHeartbeats,
  HeartbeatMonitor,
  startHeartbeat,
} from "../../../../src/dataplane/workers/heartbeat.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const second = 1000;

/** Watches one worker, whose clock can stand still. */
function setUp() {
  const clock = new FakeClock();
  const ofWorker = new FakeClock();
  const memory = createHeartbeats(1);
  const events: string[] = [];
  const note = (what: string) => (_worker: number, seconds?: number) =>
    events.push(seconds === undefined ? what : `${what} ${seconds}`);
  const monitor = new HeartbeatMonitor(memory, clock, {
    onSilent: note("silent"),
    onBeat: note("beat"),
    onLost: note("lost"),
    onNotStarted: note("not started"),
  });
  monitor.watch(1);
  const pass = (seconds: number, isAlive: boolean) => {
    for (let passed = 0; passed < seconds; passed++) {
      if (isAlive) ofWorker.advance(second);
      clock.advance(second);
    }
  };
  return {
    clock,
    monitor,
    events,
    start: () => startHeartbeat(memory, 1, ofWorker),
    pass,
  };
}

Deno.test("a worker is silent after five seconds, lost after thirty, and may return before", () => {
  const { events, start, pass } = setUp();
  start();
  pass(60, true);
  pass(4, false);
  pass(10, true);
  assert.deepEqual(events, []);

  pass(10, false);
  assert.deepEqual(events, ["silent 5"]);
  pass(10, true);
  assert.deepEqual(events, ["silent 5", "beat"]);

  pass(60, false);
  assert.deepEqual(events, ["silent 5", "beat", "silent 5", "lost 30"]);
});

Deno.test("a worker has a minute to start", () => {
  const { events, start, pass } = setUp();
  pass(59, false);
  start();
  pass(10, true);
  assert.deepEqual(events, []);

  const other = setUp();
  other.pass(100, false);
  assert.deepEqual(other.events, ["not started 60"]);
});

Deno.test("workers that have ended are not watched, and closing ends all timers", () => {
  const { clock, monitor, events, pass } = setUp();
  monitor.unwatch(1);
  pass(100, false);
  monitor.close();

  assert.deepEqual(events, []);
  assert.equal(clock.pending, 0);
});
