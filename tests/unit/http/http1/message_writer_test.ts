import assert from "node:assert/strict";
import type { Body } from "../../../../src/http/body.ts";
import { textBody } from "../../../../src/http/body.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import { MessageWriter } from "../../../../src/http/http1/message_writer.ts";
import {
  MemoryTransport,
  settle,
} from "../../../harness/gateway/memory_transport.ts";

function bodyOf(
  chunks: (string | Promise<string>)[],
  length?: number,
  trailers?: HeaderList,
): Body {
  const encode = (text: string) => new TextEncoder().encode(text);
  return {
    length,
    trailers,
    read: () => {
      const next = chunks.shift();
      if (next === undefined) return undefined;
      return typeof next === "string" ? encode(next) : next.then(encode);
    },
    cancel: () => {},
  };
}

Deno.test("MessageWriter gathers head and body in one write", async () => {
  const transport = new MemoryTransport();
  const writer = new MessageWriter(transport);

  const sent = await writer.writeMessage(
    "HEAD\r\n\r\n",
    textBody("body"),
    "length",
  );

  assert.equal(transport.written, "HEAD\r\n\r\nbody");
  assert.equal(transport.writes, 1);
  assert.equal(sent, 4);
});

Deno.test("MessageWriter writes Latin-1 heads", async () => {
  const transport = new MemoryTransport();
  const writer = new MessageWriter(transport);

  await writer.writeMessage("X: \xe9\xff\r\n\r\n", undefined, "none");

  assert.equal(transport.written, "X: \xe9\xff\r\n\r\n");
});

Deno.test("MessageWriter writes a Latin-1 head that exactly fits its buffer", async () => {
  const head = "\u00e9" + "a".repeat(2047);
  const transport = new MemoryTransport();

  await new MessageWriter(transport).writeMessage(head, undefined, "none");

  assert.equal(transport.written, head);
});

Deno.test("MessageWriter flushes before it waits", async () => {
  const transport = new MemoryTransport();
  const writer = new MessageWriter(transport);
  const late = Promise.withResolvers<string>();
  const progress: number[] = [];

  const writing = writer.writeMessage(
    "HEAD\r\n\r\n",
    bodyOf(["one", late.promise]),
    "chunked",
    (bytes) => progress.push(bytes),
  );
  await settle();
  assert.equal(transport.written, "HEAD\r\n\r\n3\r\none\r\n");
  late.resolve("two");

  assert.equal(await writing, 6);
  assert.ok(transport.written.endsWith("3\r\ntwo\r\n0\r\n\r\n"));
  assert.deepEqual(progress, [3, 6]);
});

Deno.test("MessageWriter writes trailers after the last chunk", async () => {
  const transport = new MemoryTransport();
  const writer = new MessageWriter(transport);
  const trailers = HeaderList.from([["X-Sum", "1"]]);

  await writer.writeMessage("", bodyOf(["a"], undefined, trailers), "chunked");

  assert.equal(transport.written, "1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n");
});

Deno.test("MessageWriter writes large chunks without copying them", async () => {
  const transport = new MemoryTransport();
  const writer = new MessageWriter(transport);
  const large = "x".repeat(100_000);

  await writer.writeMessage(
    "HEAD\r\n\r\n",
    bodyOf([large, large], 200_000),
    "length",
  );

  assert.equal(transport.written, "HEAD\r\n\r\n" + large + large);
});

Deno.test("MessageWriter rejects a body with a wrong length", async () => {
  for (const length of [2, 4]) {
    const writer = new MessageWriter(new MemoryTransport());
    await assert.rejects(
      writer.writeMessage("", bodyOf(["abc"], length), "length"),
      /expected \d bytes, got 3/,
    );
  }
});

/** Creates a body with one chunk, by default of 30 kB, `room` bytes into its buffer. */
function behind(room: number, hasHeadroom: boolean, content = LARGE) {
  const buffer = new TextEncoder().encode(".".repeat(room) + content);
  const chunks = [buffer.subarray(room)];
  const body: Body = {
    length: content.length,
    trailers: undefined,
    hasHeadroom,
    read: () => chunks.shift(),
    cancel: () => {},
  };
  return { buffer, body };
}

const LARGE = "x".repeat(30_000);

Deno.test("MessageWriter writes a head together with a large chunk that has room for it", async () => {
  for (const room of [8, 500]) {
    const transport = new MemoryTransport();
    const { body } = behind(room, true);

    await new MessageWriter(transport)
      .writeMessage("HEAD\r\n\r\n", body, "length");

    assert.equal(transport.written, "HEAD\r\n\r\n" + LARGE);
    assert.equal(transport.writes, 1);
  }
});

Deno.test("MessageWriter does not overwrite used bytes before a chunk", async () => {
  for (const [room, hasHeadroom] of [[7, true], [500, false]] as const) {
    const transport = new MemoryTransport();
    const { buffer, body } = behind(room, hasHeadroom);

    await new MessageWriter(transport)
      .writeMessage("HEAD\r\n\r\n", body, "length");

    assert.equal(transport.written, "HEAD\r\n\r\n" + LARGE);
    assert.ok(buffer.subarray(0, room).every((byte) => byte === 0x2e));
  }
});

Deno.test("MessageWriter copies the head, not the end of a body of some KiB", async () => {
  const transport = new MemoryTransport();
  const content = "x".repeat(5000);
  const { buffer, body } = behind(500, true, content);

  await new MessageWriter(transport)
    .writeMessage("HEAD\r\n\r\n", body, "length");

  assert.equal(transport.written, "HEAD\r\n\r\n" + content);
  assert.equal(transport.writes, 1);
  const before = new TextDecoder().decode(buffer.subarray(492, 500));
  assert.equal(before, "HEAD\r\n\r\n");
});

Deno.test("MessageWriter goes on after a write that took only a part", async () => {
  const transport = new MemoryTransport();
  transport.takes = 3;

  await new MessageWriter(transport)
    .writeMessage("HEAD\r\n\r\n", textBody("body"), "length");

  assert.equal(transport.written, "HEAD\r\n\r\nbody");
});
