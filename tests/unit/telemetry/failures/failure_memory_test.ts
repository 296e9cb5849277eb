import assert from "node:assert/strict";
import { FailureMemory } from "../../../../src/telemetry/failures/failure_memory.ts";
import { failedRequest } from "../failed_request.ts";

Deno.test("FailureMemory lists the newest first and forgets the oldest", () => {
  const memory = new FailureMemory(3);
  const seen: string[][] = [];
  for (const id of ["a", "b", "c", "d", "e"]) {
    memory.remember(failedRequest(id));
    seen.push(memory.list().map(({ id }) => id));
  }

  assert.deepEqual(seen, [
    ["a"],
    ["b", "a"],
    ["c", "b", "a"],
    ["d", "c", "b"],
    ["e", "d", "c"],
  ]);
});

Deno.test("FailureMemory finds the newest of an id that clients used twice", () => {
  const memory = new FailureMemory(3);
  for (const status of [500, 502]) {
    memory.remember(failedRequest("same", { status }));
  }

  assert.equal(memory.find("same")?.finished.status, 502);
  assert.equal(memory.find("other"), undefined);
});

Deno.test("FailureMemory of size 0 remembers nothing", () => {
  const memory = new FailureMemory(0);
  memory.remember(failedRequest("a"));

  assert.equal(memory.isOn, false);
  assert.deepEqual(memory.list(), []);
});
