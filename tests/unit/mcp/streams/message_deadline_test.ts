import assert from "node:assert/strict";
import {
  keepTimer,
  MessageDeadline,
} from "../../../../src/mcp/streams/message_deadline.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

Deno.test("limits that follow each other share a timer, which goes with the last that keeps it", () => {
  const clock = new FakeClock();
  const due: number[] = [];
  const leave = keepTimer(clock);
  assert.equal(clock.pending, 0);
  for (let call = 0; call < 3; call++) {
    const limit = new MessageDeadline(clock, () => due.push(call));
    limit.begin(1000);
    clock.advance(10);
    limit.lift();
    assert.equal(clock.pending, 1);
  }
  const late = new MessageDeadline(clock, () => due.push(clock.monotonic()));
  late.begin(2000);
  clock.advance(3000);
  assert.deepEqual(due, [2030]);
  late.begin(1000);
  late.lift();
  leave();
  assert.equal(clock.pending, 0);
});

Deno.test("a limit that is lifted leaves no timer where nothing keeps it", () => {
  const clock = new FakeClock();
  const limit = new MessageDeadline(clock, () => {});
  limit.begin(1000);
  assert.equal(clock.pending, 1);
  limit.lift();
  assert.equal(clock.pending, 0);
});
