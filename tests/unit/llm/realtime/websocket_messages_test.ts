import assert from "node:assert/strict";
import {
  closeFrame,
  WebSocketMessages,
} from "../../../../src/llm/realtime/websocket_messages.ts";

/** A frame of a server; `length` is as its head says. */
function frame(
  first: number,
  payload: Uint8Array,
  { width = 0, second = 0 }: {
    readonly width?: 0 | 2 | 8;
    readonly second?: number;
  } = {},
): Uint8Array {
  const head = new Uint8Array(2 + width);
  head[0] = first;
  head[1] = second | (width === 0 ? payload.length : width === 2 ? 126 : 127);
  let rest = payload.length;
  for (let at = 1 + width; at > 1; at--) {
    head[at] = rest & 0xff;
    rest = Math.floor(rest / 256);
  }
  return Uint8Array.of(...head, ...payload);
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function readAll(chunks: readonly Uint8Array[]) {
  const messages: string[] = [];
  let current = "";
  const reader = new WebSocketMessages({
    push: (bytes) => current += new TextDecoder().decode(bytes),
    end: () => {
      messages.push(current);
      current = "";
    },
  });
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) at = reader.push(chunk, at);
  }
  return { messages, isBroken: reader.isBroken };
}

const long = "x".repeat(70_000);
const stream = Uint8Array.of(
  ...frame(0x81, bytesOf("one")),
  ...frame(0x89, bytesOf("ping")),
  ...frame(0x01, bytesOf("t"), { width: 2 }),
  ...frame(0x8a, bytesOf("")),
  ...frame(0x00, bytesOf("w"), { width: 8 }),
  ...frame(0x80, bytesOf("o")),
  ...frame(0x81, bytesOf("")),
  ...frame(0x82, bytesOf("binary")),
  ...frame(0x81, bytesOf(long), { width: 8 }),
);

for (const size of [1, 2, 3, 7, 1000, stream.length]) {
  Deno.test(`messages are found in pieces of ${size} bytes, with fragments and control frames`, () => {
    const chunks = Array.from(
      { length: Math.ceil(stream.length / size) },
      (_, index) => stream.subarray(index * size, (index + 1) * size),
    );

    const { messages, isBroken } = readAll(chunks);

    assert.deepEqual(messages, ["one", "two", "", "binary", long]);
    assert.equal(isBroken, false);
  });
}

Deno.test("reading stops after each message, so that the tunnel can end there", () => {
  const reader = new WebSocketMessages({ push() {}, end() {} });
  const two = Uint8Array.of(
    ...frame(0x81, bytesOf("one")),
    ...frame(0x81, bytesOf("two")),
  );
  assert.equal(reader.push(two, 0), 5);
  assert.equal(reader.push(two, 5), 10);
});

const huge = new Uint8Array(10).fill(0xff);
huge[0] = 0x81;
huge[1] = 127;

for (
  const [what, bytes] of [
    ["a masked frame", frame(0x81, bytesOf("a"), { second: 0x80 })],
    ["a compressed frame", frame(0xc1, bytesOf("a"))],
    ["an unknown opcode", frame(0x83, bytesOf("a"))],
    ["an unknown control frame", frame(0x8b, bytesOf("a"))],
    ["a control frame in fragments", frame(0x09, bytesOf("a"))],
    [
      "a long control frame",
      frame(0x89, new Uint8Array(126), { width: 2 }),
    ],
    ["a continuation of nothing", frame(0x80, bytesOf("a"))],
    ["a message within a message", [
      ...frame(0x01, bytesOf("a")),
      ...frame(0x81, bytesOf("b")),
    ]],
    ["an impossible length", huge],
  ] as const
) {
  Deno.test(`${what} ends the reading`, () => {
    const rest = frame(0x81, bytesOf("more"));
    const read = readAll([Uint8Array.of(...bytes), rest]);
    assert.equal(read.isBroken, true);
    assert.deepEqual(read.messages, []);
  });
}

Deno.test("a frame of 2^52 bytes takes no memory", () => {
  const head = Uint8Array.of(0x81, 127, 0, 0x10, 0, 0, 0, 0, 0, 0);
  const { messages, isBroken } = readAll([head, new Uint8Array(1 << 20)]);
  assert.deepEqual(messages, []);
  assert.equal(isBroken, false);
});

Deno.test("a server closes with a code and a reason", () => {
  assert.deepEqual(
    [...closeFrame(1008, "no")],
    [0x88, 4, 0x03, 0xf0, 0x6e, 0x6f],
  );
});
