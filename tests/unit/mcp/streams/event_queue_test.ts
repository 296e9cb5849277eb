import assert from "node:assert/strict";
import {
  BodyMemory,
  createBodyMemory,
  HeldBytes,
} from "../../../../src/http/body_memory.ts";
import { EventQueue } from "../../../../src/mcp/streams/event_queue.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const KILOBYTE = 1024;

Deno.test("events count in memory until the client has taken them", async () => {
  const memory = new BodyMemory(createBodyMemory(1, 100 * KILOBYTE));
  const left: string[] = [];
  const queue = new EventQueue(new FakeClock(), () => left.push("left"));
  queue.holdIn(new HeldBytes(memory));

  queue.writeRaw("a".repeat(40 * KILOBYTE));
  await queue.read();
  assert.equal(memory.fill.used, 40 * KILOBYTE);
  queue.writeRaw("b".repeat(20 * KILOBYTE));
  await queue.read();
  assert.equal(memory.fill.used, 20 * KILOBYTE);
  assert.deepEqual(left, []);
});

Deno.test("a client that reads slowly is disconnected when memory is short", async () => {
  const memory = new BodyMemory(createBodyMemory(1, 100 * KILOBYTE));
  const left: string[] = [];
  const queue = new EventQueue(new FakeClock(), () => left.push("left"));
  queue.holdIn(new HeldBytes(memory));

  queue.writeRaw("a".repeat(60 * KILOBYTE));
  queue.writeRaw("b".repeat(60 * KILOBYTE));
  assert.deepEqual(left, ["left"]);
  assert.equal(memory.fill.used, 0);
  assert.equal(await queue.read(), undefined);
});
