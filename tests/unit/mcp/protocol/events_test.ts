import assert from "node:assert/strict";
import process from "node:process";
import fc from "fast-check";
import { textBody } from "../../../../src/http/body.ts";
import { LongEvent, readEvents } from "../../../../src/mcp/protocol/events.ts";
import { ChunkedBody } from "../../../harness/clients/chunked_body.ts";

const stream = [
  ": comment\n\n",
  "id: 1\nretry: 500\ndata:\n\n",
  "event: message\r\ndata: a\r\ndata: b\r\n\r\n",
  "event: ping\rid: 2\rdata: {}\r\r",
  "data: not ended",
].join("");

async function collect(body: Parameters<typeof readEvents>[0], max = 1000) {
  const events = [];
  for await (const event of readEvents(body, max)) events.push(event);
  return events;
}

const expected = [
  { type: "message", data: "", lastId: "1", retryMs: 500 },
  { type: "message", data: "a\nb", lastId: "1", retryMs: 500 },
  { type: "ping", data: "{}", lastId: "2", retryMs: 500 },
];

Deno.test("events are read with their ids, whatever ends their lines", async () => {
  assert.deepEqual(await collect(textBody(stream)), expected);
});

Deno.test("events are the same, wherever the stream is split", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }),
      async (sizes) => {
        const body = new ChunkedBody(...split(stream, sizes));
        assert.deepEqual(await collect(body), expected);
      },
    ),
  );
});

Deno.test("an event without end is an error", async () => {
  const body = textBody(`data: ${"a".repeat(2000)}`);
  await assert.rejects(() => collect(body), LongEvent);
  const lines = textBody("data: aaaaaaaaa\n".repeat(200));
  await assert.rejects(() => collect(lines), LongEvent);
});

Deno.test("a long line in small parts is read in proportion to its length", async () => {
  const line = `data: ${"a".repeat(1000)}\n`;
  const long = `data: ${"a".repeat(4_000_000)}\n\n`;
  const body = new ChunkedBody(line, ...split(long, [400]));
  const before = process.threadCpuUsage();
  const [event] = await collect(body, 8_000_000);

  assert.equal(event?.data.length, 4_001_001);
  // Splitting the line anew with each part takes minutes.
  const { user, system } = process.threadCpuUsage(before);
  assert(user + system < 5_000_000, `${user + system} µs`);
});

/** Splits a text into parts of these sizes, over and over. */
function split(text: string, sizes: readonly number[]): readonly string[] {
  const parts: string[] = [];
  let at = 0;
  while (at < text.length) {
    const size = sizes[parts.length % sizes.length] ?? 1;
    parts.push(text.slice(at, at + size));
    at += size;
  }
  return parts;
}
