import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import {
  createDecoder,
  type DecoderLimits,
  responseLimits,
} from "../../../../src/llm/format/content_decoder.ts";
import {
  bytesOf,
  cut,
  events,
  everyByte,
  scannerFor,
  sse,
} from "../llm_responses.ts";

const text = events(
  ...Array.from({ length: 50 }, (_, index) => ({ index, text: "hello" })),
  { usage: { prompt_tokens: 5, completion_tokens: 6 } },
);
const codings = [
  { name: "gzip", coding: "gzip", body: gzipSync(text) },
  { name: "gzip by its old name", coding: "X-GZip", body: gzipSync(text) },
  { name: "deflate", coding: "deflate", body: deflateSync(text) },
  { name: "raw deflate", coding: "deflate", body: deflateRawSync(text) },
  { name: "br", coding: "br", body: brotliCompressSync(text) },
  { name: "zstd", coding: "zstd", body: zstdCompressSync(text) },
  {
    name: "two codings",
    coding: "gzip , br",
    body: brotliCompressSync(gzipSync(text)),
  },
  { name: "no coding", coding: "identity", body: bytesOf(text) },
];

for (const { name, coding, body } of codings) {
  Deno.test(`usage is found through ${name}, in any chunking`, async () => {
    for (const pieces of [[body], everyByte(body), cut(body, [1, 2, 100])]) {
      const scanner = scannerFor(sse);
      const decoder = open(coding, (bytes) => scanner.push(bytes));
      for (const piece of pieces) {
        // The buffer of a body is reused after each read.
        const reused = new Uint8Array(piece);
        decoder.push(reused);
        reused.fill(0xff);
      }

      assert.equal(await decoder.finish(), true);
      assert.equal(scanner.finish()?.totalTokens, 11);
    }
  });
}

const compressed = codings.filter(({ coding }) => coding !== "identity");
for (const { name, coding, body } of compressed) {
  Deno.test(`decoding truncated ${name} yields the available part`, async () => {
    const decoded: string[] = [];
    const utf8 = new TextDecoder();
    const decoder = open(coding, (bytes) => decoded.push(utf8.decode(bytes)));
    decoder.push(body.subarray(0, body.length - 1));
    await decoder.finish();

    assert(text.startsWith(decoded.join("")));
  });

  Deno.test(`decoding ${name} stops when the content is corrupt`, async () => {
    const decoder = open(coding, () => {});
    decoder.push(Uint8Array.of(body[0] ?? 0, 0xff, 0xff));
    decoder.push(new Uint8Array(randomBytes(2000)));

    assert.equal(await decoder.finish(), false);
    decoder.push(body);
  });
}

const zeros = new Uint8Array(128 * 1024 * 1024);
for (
  const { name, coding, bomb } of [
    { name: "gzip", coding: "gzip", bomb: gzipSync(zeros) },
    {
      name: "br",
      coding: "br",
      bomb: brotliCompressSync(zeros.subarray(0, 32 << 20)),
    },
    { name: "zstd", coding: "zstd", bomb: zstdCompressSync(zeros) },
  ]
) {
  Deno.test(`decoding ${name} stops at a decompression bomb`, async () => {
    let decoded = 0;
    const decoder = open(coding, (bytes) => decoded += bytes.length);
    decoder.push(bomb);

    assert.equal(await decoder.finish(), false);
    assert(decoded <= Math.max(1024 * 1024, bomb.length * 250));
  });
}

Deno.test("decoding stops after 64 MiB", async () => {
  const noise = new Uint8Array(randomBytes(1024 * 1024));
  let decoded = 0;
  const decoder = open("gzip", (bytes) => decoded += bytes.length);
  const members = gzipSync(noise, { level: 0 });
  for (let i = 0; i < 70; i++) {
    decoder.push(members);
    await new Promise((resolve) => setImmediate(resolve));
  }

  assert.equal(await decoder.finish(), false);
  assert(decoded <= 64 * 1024 * 1024);
});

const token = {
  choices: [{ delta: { content: "abcd" } }],
  id: "x".repeat(290),
};
const chunk = events(token);
const report = events({
  usage: { prompt_tokens: 1000, completion_tokens: 2e5 },
});

Deno.test("a streamed answer of 201,000 tokens is counted exactly, however well compressed", async () => {
  const scanner = scannerFor(sse);
  const decoder = open("zstd", (bytes) => scanner.push(bytes), responseLimits);
  decoder.push(zstdCompressSync(chunk.repeat(200_000) + report));

  assert.equal(await decoder.finish(), true);
  assert.equal(decoder.share, 1);
  assert.equal(scanner.finish()?.totalTokens, 201_000);
});

Deno.test("an answer that expands to more than 64 MiB is estimated from the part that was decoded", async () => {
  const tokens = 250_000;
  const encoded = new Uint8Array(gzipSync(chunk.repeat(tokens)));
  for (const size of [encoded.length, 16 * 1024]) {
    const scanner = scannerFor(sse);
    const decoder = open("gzip", (bytes) => scanner.push(bytes));
    for (let at = 0; at < encoded.length; at += size) {
      decoder.push(encoded.subarray(at, at + size));
    }

    assert.equal(await decoder.finish(), false);
    const { share } = decoder;
    const { outputTokens } = scanner.estimate(0, { share });

    assert(share < 1);
    assert(outputTokens > 0.9 * tokens, `${outputTokens}`);
    assert(outputTokens < 2 * tokens, `${outputTokens}`);
  }
});

Deno.test("a small body may have any ratio", async () => {
  let decoded = 0;
  const decoder = open("gzip", (bytes) => decoded += bytes.length);
  decoder.push(gzipSync(zeros.subarray(0, 1024 * 1024)));

  assert.equal(await decoder.finish(), true);
  assert.equal(decoded, 1024 * 1024);
});

Deno.test("an empty body is decoded", async () => {
  assert.equal(await open("gzip", () => {}).finish(), true);
});

for (const coding of ["compress", "gzip, aws-chunked", "br, br, br, br"]) {
  Deno.test(`content coding ${coding} has no decoder`, () => {
    assert.equal(createDecoder(coding, () => {}), undefined);
  });
}

function open(
  coding: string,
  sink: (bytes: Uint8Array) => void,
  limits?: DecoderLimits,
) {
  const decoder = createDecoder(coding, sink, limits);
  assert(decoder !== undefined);
  return decoder;
}
