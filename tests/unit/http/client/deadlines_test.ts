import assert from "node:assert/strict";
import {
  Deadlines,
  type Timed,
} from "../../../../src/http/client/deadlines.ts";
import { FakeClock } from "../../../harness/fake_clock.ts";

Deno.test("Deadlines tells each member in time, with one timer", () => {
  const { clock, deadlines, due, add } = setUp();
  const [a, b, c] = [add("a"), add("b"), add("c")];

  deadlines.set(a, 300);
  deadlines.set(b, 100);
  deadlines.set(c, 200);

  assert.equal(clock.pending, 1);
  clock.advance(99);
  assert.deepEqual(due, []);
  clock.advance(101);
  assert.deepEqual(due, ["b", "c"]);
  clock.advance(100);
  assert.deepEqual(due, ["b", "c", "a"]);
  assert.equal(clock.pending, 0);
});

Deno.test("Deadlines forgets a deadline that was moved or taken back", () => {
  const { clock, deadlines, due, add } = setUp();
  const [a, b] = [add("a"), add("b")];
  deadlines.set(a, 100);
  deadlines.set(b, 100);

  clock.advance(50);
  deadlines.set(a, 100);
  deadlines.set(b, undefined);
  clock.advance(99);

  assert.deepEqual(due, []);
  clock.advance(1);
  assert.deepEqual(due, ["a"]);
});

Deno.test("Deadlines leaves no timer when the last member is gone", () => {
  const { clock, deadlines, due, add } = setUp();
  const a = add("a");
  deadlines.set(a, 100);

  deadlines.delete(a);
  clock.advance(1000);

  assert.deepEqual(due, []);
  assert.equal(clock.pending, 0);
});

Deno.test("Deadlines lets a member set its next deadline when it is due", () => {
  const { clock, deadlines, due, add } = setUp();
  const a: Timed = add("a", () => {
    if (due.length < 3) deadlines.set(a, 10);
  });
  deadlines.set(a, 10);

  clock.advance(10);
  clock.advance(10);
  clock.advance(10);
  clock.advance(100);

  assert.deepEqual(due, ["a", "a", "a"]);
});

function setUp() {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const due: string[] = [];
  const add = (name: string, then = () => {}): Timed => {
    const onDue = () => {
      due.push(name);
      then();
    };
    const member = { dueAt: Infinity, onDue };
    deadlines.add(member);
    return member;
  };
  return { clock, deadlines, due, add };
}
