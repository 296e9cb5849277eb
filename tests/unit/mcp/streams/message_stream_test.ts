import assert from "node:assert/strict";
import { MessageStream } from "../../../../src/mcp/streams/message_stream.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

function createStream(name: string): MessageStream {
  const clock = new FakeClock();
  return new MessageStream({ clock, name, primes: false, onLeave: () => {} });
}

/** Returns what a client that has received nothing catches up with. */
async function replay(stream: MessageStream): Promise<string> {
  const { body } = stream.connect(0);
  const chunk = await body?.read();
  return new TextDecoder().decode(chunk);
}

Deno.test("streams together keep a bounded length; the oldest forget first", async () => {
  const text = "a".repeat(1_000_000);
  const streams = Array.from({ length: 100 }, (_, index) => {
    const stream = createStream(String(index));
    stream.send(text);
    stream.end();
    return stream;
  });
  const lengths = await Promise.all(
    streams.map(async (stream) => (await replay(stream)).length),
  );
  for (const stream of streams) stream.forget();
  const kept = lengths.map((length) => length > text.length);

  assert.equal(kept.indexOf(true), kept.lastIndexOf(false) + 1);
  assert(kept.filter(Boolean).length >= 60);
  assert(kept.filter(Boolean).length <= 67);
});
