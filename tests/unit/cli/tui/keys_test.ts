import assert from "node:assert/strict";
import { type Key, KeyDecoder } from "../../../../cli/tui/keys.ts";

function decode(...chunks: readonly string[]): readonly Key[] {
  const decoder = new KeyDecoder();
  const encoder = new TextEncoder();
  return chunks.flatMap((chunk) => decoder.decode(encoder.encode(chunk)));
}

for (
  const [bytes, name] of [
    ["\x1b[A", "up"],
    ["\x1bOB", "down"],
    ["\x1b[5~", "pageUp"],
    ["\x1b[6~", "pageDown"],
    ["\x1b[H", "home"],
    ["\x1b[1~", "home"],
    ["\x1b[F", "end"],
    ["\x1b[4~", "end"],
    ["\t", "tab"],
    ["\x1b[Z", "tab"],
    ["\r", "enter"],
    ["\x7f", "backspace"],
    ["\x03", "interrupt"],
    ["\x1b", "escape"],
  ] as const
) {
  Deno.test(`KeyDecoder reads ${JSON.stringify(bytes)} as ${name}`, () => {
    assert.deepEqual(decode(bytes), [{ name }]);
  });
}

Deno.test("KeyDecoder decodes typed characters one by one", () => {
  assert.deepEqual(decode("qé🚀"), [
    { name: "text", text: "q" },
    { name: "text", text: "é" },
    { name: "text", text: "🚀" },
  ]);
});

Deno.test("KeyDecoder waits for the rest of a sequence", () => {
  assert.deepEqual(decode("\x1b[", "A", "\x1b[5", "~"), [
    { name: "up" },
    { name: "pageUp" },
  ]);
});

Deno.test("KeyDecoder waits for the rest of a character", () => {
  const decoder = new KeyDecoder();
  const [first = 0, second = 0] = new TextEncoder().encode("é");

  assert.deepEqual(decoder.decode(Uint8Array.of(first)), []);
  assert.deepEqual(decoder.decode(Uint8Array.of(second)), [
    { name: "text", text: "é" },
  ]);
});

Deno.test("KeyDecoder ignores unknown sequences and control characters", () => {
  assert.deepEqual(decode("\x1b[1;5C\x1b[99~\x01q"), [
    { name: "text", text: "q" },
  ]);
});
