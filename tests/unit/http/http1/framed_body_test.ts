import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type BodyOwner,
  FramedBody,
} from "../../../../src/http/http1/framed_body.ts";
import type { BodyFraming } from "../../../../src/http/http1/framing.ts";
import { InputBuffer } from "../../../../src/http/http1/input_buffer.ts";
import { MessageWriter } from "../../../../src/http/http1/message_writer.ts";
import { readText } from "../../../harness/servers/echo_server.ts";
import {
  MemoryTransport,
  settle,
} from "../../../harness/gateway/memory_transport.ts";

/** Creates a body with the calls of its owner and its connection. */
function subject(framing: BodyFraming, maxTrailerBytes = 1024) {
  const transport = new MemoryTransport();
  const input = new InputBuffer(transport);
  const events: string[] = [];
  const owner: BodyOwner = {
    waitingForBody: () => void events.push("waiting"),
    bodyEnded: () => void events.push("ended"),
    bodyAbandoned: (reason) => void events.push(`abandoned: ${reason}`),
    translateBodyError: (error) => new Error(`translated ${error}`),
  };
  const body = new FramedBody(input, framing, owner, maxTrailerBytes);
  return { transport, input, events, body };
}

const CHUNKED = '5\r\nhello\r\n6;a="b\\"c"\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n';

Deno.test("FramedBody ends according to its framing", async (t) => {
  const cases: readonly [BodyFraming, string, string, string][] = [
    [5, "hello", "hello", "rest"],
    [0, "", "", "rest"],
    ["chunked", CHUNKED, "hello world", "rest"],
    ["until-close", "hello", "hello", ""],
  ];
  for (const [framing, sent, expected, rest] of cases) {
    for (const piece of [1, 2, 1000]) {
      await t.step(`${framing} in pieces of ${piece}`, async () => {
        const { transport, input, events, body } = subject(framing);
        const all = sent + rest;
        const reading = readText(body);
        for (let at = 0; at < all.length; at += piece) {
          transport.give(all.slice(at, at + piece));
          await new Promise((resolve) => setTimeout(resolve, 0));
        }
        transport.end();

        assert.equal(await reading, expected);
        assert.equal(events.at(-1), "ended");
        assert.equal(events.filter((event) => event === "ended").length, 1);
        while (await input.fill());
        assert.equal(
          input.bytes.toString("latin1", input.start, input.end),
          rest,
        );
        assert.equal(await body.read(), undefined);
      });
    }
  }
});

Deno.test("FramedBody has trailers at its end", async () => {
  const { transport, body } = subject("chunked");
  transport.give(CHUNKED);

  await readText(body);

  assert.deepEqual([...body.trailers ?? []], [["X-Sum", "1"]]);
});

Deno.test("FramedBody returns without a promise when bytes are buffered", async () => {
  const { transport, input, events, body } = subject(5);
  transport.give("hello");
  await input.fill();

  assert.ok(body.read() instanceof Uint8Array);
  assert.equal(body.read(), undefined);
  assert.deepEqual(events, ["ended"]);
});

Deno.test("FramedBody fails when the connection ends prematurely", async () => {
  for (const framing of [6, "chunked"] as const) {
    const { transport, events, body } = subject(framing);
    transport.give("5\r\nhi");
    transport.end();
    if (framing === 6) await body.read();

    await assert.rejects(readText(body), /translated .*closed inside it/);

    assert.match(events.at(-1) ?? "", /^abandoned: Error: translated/);
  }
});

Deno.test("FramedBody does not appear complete after cancellation", async () => {
  const { transport, events, body } = subject("until-close");
  transport.give("hello");
  await body.read();
  const reading = body.read();

  body.cancel(new Error("enough"));
  transport.end();

  await assert.rejects(async () => await reading, /enough/);
  await assert.rejects(async () => await body.read(), /enough/);
  assert.deepEqual(events.slice(-1), ["abandoned: Error: enough"]);
});

/** Returns the bytes written when a body is forwarded after a head. */
async function relay(
  framing: "chunked" | number,
  pieces: readonly string[],
): Promise<MemoryTransport> {
  const { transport, body } = subject(framing);
  const out = new MemoryTransport();
  const outgoing = framing === "chunked" ? framing : "length";
  const writing = new MessageWriter(out).writeMessage(HEAD, body, outgoing);
  for (const piece of pieces) {
    transport.give(piece);
    await settle();
  }
  await writing;
  return out;
}

const HEAD = "HEAD\r\n\r\n";

function chunked(chunks: readonly string[]): string {
  const frame = (chunk: string) =>
    `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
  return [...chunks, ""].map(frame).join("");
}

Deno.test("FramedBody that arrived completely is sent in one write with the head", async () => {
  const text = "x".repeat(64 * 1024);
  const { transport, input, body } = subject(text.length);
  const out = new MemoryTransport();
  input.growForBody();
  transport.give(text);
  await input.fill();

  await new MessageWriter(out).writeMessage(HEAD, body, "length");

  assert.equal(out.written, HEAD + text);
  assert.equal(out.writes, 1);
});

Deno.test("FramedBody is forwarded unchanged in any chunking", async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 100_000 }), {
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(
      sizes,
      sizes,
      fc.boolean(),
      async (sizes, cuts, isChunked) => {
        const chunks = sizes.map((size, i) =>
          String.fromCharCode(97 + i).repeat(size)
        );
        const sent = isChunked ? chunked(chunks) : chunks.join("");
        const pieces: string[] = [];
        let at = 0;
        for (const cut of cuts) pieces.push(sent.slice(at, at += cut));
        pieces.push(sent.slice(at));

        const out = await relay(isChunked ? "chunked" : sent.length, pieces);

        const [head, passed] = [
          out.written.slice(0, HEAD.length),
          out.written.slice(HEAD.length),
        ];
        assert.equal(head, HEAD);
        if (!isChunked) return assert.equal(passed, sent);
        const again = subject("chunked");
        again.transport.give(passed);
        assert.equal(await readText(again.body), chunks.join(""));
      },
    ),
    { numRuns: 60 },
  );
});
