import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readImageSize } from "../../../../src/llm/format/image_size.ts";

/** Returns the first bytes of a file, in hexadecimal. */
function head(...parts: readonly string[]): Uint8Array {
  return Buffer.from(
    parts.join("").replaceAll(" ", "").padEnd(200, "0"),
    "hex",
  );
}

const riff = "52494646 00000000 57454250";
for (
  const [format, bytes] of [
    ["PNG", head("89504e470d0a1a0a 0000000d 49484452 00000280 000001e0")],
    ["GIF", head("474946383961 8002 e001")],
    ["JPEG", head("ffd8 ffe0 0004 0000 ffc4 0003 00 ffc2 0011 08 01e0 0280")],
    ["WebP", head(riff, "56503820 00000000 000000 9d012a 8002 e001")],
    ["lossless WebP", head(riff, "5650384c 00000000 2f 7fc27700")],
    ["extended WebP", head(riff, "56503858 0a000000 00000000 7f0200 df0100")],
  ] as const
) {
  Deno.test(`the size of an image in ${format} is read`, () => {
    assert.deepEqual(readImageSize(bytes), { width: 640, height: 480 });
  });
}

for (
  const [what, bytes] of [
    ["a page", Buffer.from("%PDF-1.4".padEnd(100))],
    ["no bytes", new Uint8Array()],
    ["a JPEG that breaks off", head("ffd8 ffe0 0004")],
    ["an unknown kind of WebP", head(riff, "56503859")],
    ["a JPEG with segments of no length", head("ffd8", "ffe00000".repeat(20))],
  ] as const
) {
  Deno.test(`${what} has no size of an image`, () => {
    assert.equal(readImageSize(bytes), undefined);
  });
}
