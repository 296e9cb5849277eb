import assert from "node:assert/strict";
import {
  CountedResponses,
  createCountedMemory,
} from "../../../../src/llm/usage/counted_responses.ts";

Deno.test("a response is claimed once, by whichever thread comes first", () => {
  const memory = createCountedMemory();
  const threads = [new CountedResponses(memory), new CountedResponses(memory)];
  assert.deepEqual(threads.map((each) => each.claim("resp_1")), [true, false]);
  assert.deepEqual(threads.map((each) => each.claim("resp_2")), [true, false]);
  assert.deepEqual(threads.map((each) => each.claim("resp_1")), [false, false]);
});

Deno.test("the latest thousands of responses are remembered, and older ones make room", () => {
  const counted = new CountedResponses();
  const claimed = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => counted.claim(`r${from + i}`))
      .filter((isNew) => isNew).length;
  assert.equal(claimed(0, 2000), 2000);
  assert.equal(claimed(0, 2000), 0);
  assert.equal(claimed(2000, 100_000), 98_000);
  assert(claimed(0, 2000) > 500);
});
