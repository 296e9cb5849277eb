import assert from "node:assert/strict";
import {
  type KeyHash,
  KeyHasher,
} from "../../../../src/ratelimit/shared/key_hash.ts";

function hexOf({ a, b, c, d }: KeyHash): string {
  const view = new DataView(new ArrayBuffer(16));
  [a, b, c, d].forEach((word, at) => view.setInt32(at * 4, word, true));
  return new Uint8Array(view.buffer).toHex();
}

/** Bytes 0, 1, 2 and so on, as UTF-16LE. */
function counting(bytes: number): string {
  return Array.from(
    { length: bytes / 2 },
    (_, at) => String.fromCharCode(at * 2 | (at * 2 + 1) << 8),
  ).join("");
}

// As `openssl mac -macopt size:16 -macopt hexkey:000102030405060708090a0b0c0d0e0f SIPHASH` prints them.
const digests = [
  [0, "a3817f04ba25a8e66df67214c7550293"],
  [2, "8177228da4a45dc7fca38bdef60affe4"],
  [4, "f88164c12d9c8faf7d0f6e7c7bcd5579"],
  [6, "14eeca338b208613485ea0308fd7a15e"],
  [8, "3b62a9ba6258f5610f83e264f31497b4"],
  [62, "5853542321f567a005d547a4f04759bd"],
] as const;

const seed = new Int32Array(
  Uint8Array.from({ length: 16 }, (_, at) => at).buffer,
);

for (const [bytes, digest] of digests) {
  Deno.test(`SipHash-2-4 of ${bytes} bytes, 128 bits`, () => {
    assert.equal(hexOf(new KeyHasher(seed).hash(counting(bytes))), digest);
  });
}

Deno.test("another seed gives other hashes", () => {
  const other = new KeyHasher(new Int32Array([1, 2, 3, 4]));
  assert.notDeepEqual(other.hash("anna"), new KeyHasher(seed).hash("anna"));
});

Deno.test("a seed has 128 bits", () => {
  assert.throws(() => new KeyHasher(new Int32Array(2)), RangeError);
});
