import assert from "node:assert/strict";
import { FairMemory } from "../../../../src/telemetry/requests/fair_memory.ts";

function valuesOf(memory: FairMemory<string>): string {
  return memory.list().map(({ value }) => value).join("");
}

Deno.test("a memory lists the newest first and forgets the oldest", () => {
  const memory = new FairMemory<string>(3);
  const seen: string[] = [];
  for (const value of "abcde") {
    memory.remember("group", value);
    seen.push(valuesOf(memory));
  }

  assert.deepEqual(seen, ["a", "ba", "cba", "dcb", "edc"]);
  assert.deepEqual(memory.fill, { used: 3, capacity: 3 });
});

Deno.test("a flood of one group forgets only its own values, and gets what the others leave", () => {
  const memory = new FairMemory<string>(8);
  for (const value of "abc") memory.remember("rare", value);
  for (let index = 0; index < 1000; index++) memory.remember("flood", "x");

  assert.equal(valuesOf(memory), "xxxxxcba");
});

Deno.test("groups of a full memory come to have equally much", () => {
  const memory = new FairMemory<string>(9);
  for (let index = 0; index < 9; index++) memory.remember("first", "a");
  for (let index = 0; index < 50; index++) {
    memory.remember("second", "b");
    memory.remember("third", "c");
  }

  const counts = Map.groupBy(valuesOf(memory), (value) => value);
  assert.deepEqual(
    Array.from(counts, ([value, all]) => value + all.length).sort(),
    ["a3", "b3", "c3"],
  );
});

Deno.test("a flood of groups is bounded, and forgets the oldest of those with one value", () => {
  const memory = new FairMemory<string>(4);
  for (const value of "abcdefghij") memory.remember(value, value);

  assert.equal(valuesOf(memory), "jihg");
  assert.deepEqual(memory.fill, { used: 4, capacity: 4 });
});

Deno.test("a memory of size 0 remembers nothing", () => {
  const memory = new FairMemory<string>(0);
  memory.remember("group", "a");

  assert.equal(memory.isOn, false);
  assert.deepEqual(memory.list(), []);
});
