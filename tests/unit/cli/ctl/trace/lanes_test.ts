import assert from "node:assert/strict";
import { inTurn, mergeLanes } from "../../../../../cli/ctl/trace/lanes.ts";
import type { ReceivedEvent } from "../../../../../cli/ctl/trace/decode_event.ts";
import { received } from "../../../../harness/clients/received_events.ts";
import { refusedTrace } from "../../../../harness/telemetry/sample_trace.ts";

const [start, snapshot, policy, end] = received(refusedTrace);
assert(start && snapshot && policy && end);

/** Formats events as lane and type. */
async function listed(
  events: AsyncIterable<ReceivedEvent>,
): Promise<readonly string[]> {
  const all = await Array.fromAsync(events);
  return all.map(({ lane, type }) => `${lane} ${type}`);
}

Deno.test("merged streams have the number of their lane", async () => {
  const merged = mergeLanes([
    ReadableStream.from([start, end]),
    ReadableStream.from([start]),
  ]);

  assert.deepEqual((await listed(merged)).toSorted(), [
    "0 requestFinished",
    "0 requestStarted",
    "1 requestStarted",
  ]);
});

Deno.test("a single stream has no lanes", async () => {
  const merged = mergeLanes([ReadableStream.from([start])]);

  assert.deepEqual(await listed(merged), ["undefined requestStarted"]);
});

Deno.test("merged streams end with the first error", async () => {
  const broken = new ReadableStream<ReceivedEvent>({
    start: (controller) => controller.error(new Error("cut")),
  });
  const endless = new ReadableStream<ReceivedEvent>();

  await assert.rejects(listed(mergeLanes([endless, broken])), /cut/);
});

Deno.test("events of one lane pass at once, those of several when their request has ended", async () => {
  const lanes = [
    { ...start, lane: 0 },
    { ...start, lane: 1 },
    { ...end, lane: 1 },
    { ...policy, lane: 0 },
    { ...start, lane: 1 },
    { ...end, lane: 0 },
  ];

  assert.deepEqual(await listed(inTurn(ReadableStream.from(lanes))), [
    "1 requestStarted",
    "1 requestFinished",
    "0 requestStarted",
    "0 policy",
    "0 requestFinished",
    "1 requestStarted",
  ]);
  assert.deepEqual(await listed(inTurn(ReadableStream.from([start, policy]))), [
    "undefined requestStarted",
    "undefined policy",
  ]);
});
