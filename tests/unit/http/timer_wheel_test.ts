import assert from "node:assert/strict";
import { type Deadline, TimerWheel } from "../../../src/http/timer_wheel.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";

Deno.test("TimerWheel calls each deadline in time, with one timer", () => {
  const { clock, wheel, due, add } = setUp();
  const [a, b, c] = [add("a"), add("b"), add("c")];

  wheel.set(a, 300);
  wheel.set(b, 100);
  wheel.set(c, 200);

  assert.equal(clock.pending, 1);
  clock.advance(99);
  assert.deepEqual(due, []);
  clock.advance(101);
  assert.deepEqual(due, ["b", "c"]);
  clock.advance(100);
  assert.deepEqual(due, ["b", "c", "a"]);
  assert.equal(clock.pending, 0);
});

Deno.test("TimerWheel does not call a deadline that was moved or removed", () => {
  const { clock, wheel, due, add } = setUp();
  const [a, b] = [add("a"), add("b")];
  wheel.set(a, 100);
  wheel.set(b, 100);

  clock.advance(50);
  wheel.set(a, 100);
  wheel.set(b, undefined);
  clock.advance(99);

  assert.deepEqual(due, []);
  clock.advance(1);
  assert.deepEqual(due, ["a"]);
});

Deno.test("TimerWheel stops its timer when the last deadline is deleted", () => {
  const { clock, wheel, due, add } = setUp();
  const a = add("a");
  wheel.set(a, 100);

  wheel.delete(a);
  clock.advance(1000);

  assert.deepEqual(due, []);
  assert.equal(clock.pending, 0);
});

Deno.test("TimerWheel keeps the others when deadlines are deleted in any order", () => {
  const { clock, wheel, due, add } = setUp();
  const [a, b, c, d] = [add("a"), add("b"), add("c"), add("d")];
  for (const each of [a, b, c, d]) wheel.set(each, 100);

  wheel.delete(b);
  wheel.delete(b);
  wheel.delete(d);
  wheel.add(b);
  wheel.add(a);
  wheel.set(b, 100);
  clock.advance(1000);

  assert.deepEqual(due.toSorted(), ["a", "b", "c"]);
  wheel.delete(a);
  wheel.set(c, 100);
  clock.advance(100);
  assert.deepEqual(due.toSorted(), ["a", "b", "c", "c"]);
});

Deno.test("TimerWheel lets a deadline set its next time when it is due", () => {
  const { clock, wheel, due, add } = setUp();
  const a: Deadline = add("a", () => {
    if (due.length < 3) wheel.set(a, 10);
  });
  wheel.set(a, 10);

  clock.advance(10);
  clock.advance(10);
  clock.advance(10);
  clock.advance(100);

  assert.deepEqual(due, ["a", "a", "a"]);
});

Deno.test("TimerWheel wakes at most once in its resolution, and never early", () => {
  const { clock, wheel, due, add } = setUp(500);
  const [a, b, c] = [add("a"), add("b"), add("c")];
  wheel.set(a, 1000);
  wheel.set(b, 1010);
  wheel.set(c, 1490);

  clock.advance(1000);
  assert.deepEqual(due, ["a"]);
  clock.advance(499);
  assert.deepEqual(due, ["a"]);
  clock.advance(1);

  assert.deepEqual(due, ["a", "b", "c"]);
});

function setUp(resolutionMs = 1) {
  const clock = new FakeClock();
  const wheel = new TimerWheel(clock, resolutionMs);
  const due: string[] = [];
  const add = (name: string, then = () => {}): Deadline => {
    const onDue = () => {
      due.push(name);
      then();
    };
    const member = { dueAt: Infinity, onDue };
    wheel.add(member);
    return member;
  };
  return { clock, wheel, due, add };
}
