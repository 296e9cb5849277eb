import { ok, strictEqual } from "node:assert/strict";
import type { Body } from "../../../../src/http/body.ts";
import { peekBody } from "../../../../src/policy/expressions/peeked_body.ts";
import { mirrorBody } from "../../../../src/proxy/body/mirrored_body.ts";
import { ReplayableBody } from "../../../../src/proxy/body/replayable_body.ts";

const size = 256 * 1024;
/** A list of the pieces would take 70 MB. */
const allowedBytes = 40 * 1024 * 1024;

/** Comes byte by byte, as a client may send it. */
class DrippingBody implements Body {
  readonly length = undefined;
  readonly trailers = undefined;
  readonly #byte = Uint8Array.of(0x61);
  #left = size;

  read(): Uint8Array | undefined {
    return this.#left-- > 0 ? this.#byte : undefined;
  }

  cancel(): void {}
}

async function lengthOf(body: Body): Promise<number> {
  let length = 0;
  for (let chunk = await body.read(); chunk; chunk = await body.read()) {
    length += chunk.length;
  }
  return length;
}

function usedBytes(): number {
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

Deno.test("a body that comes byte by byte takes no more memory to peek at than any other", async () => {
  const message: { body: Body | undefined } = { body: new DrippingBody() };
  const before = usedBytes();

  const whole = await peekBody(message, size);

  ok(usedBytes() - before < allowedBytes);
  strictEqual(whole?.length, size);
});

Deno.test("a body that comes byte by byte takes no more memory to replay than any other", async () => {
  const body = new ReplayableBody(new DrippingBody(), size);
  const before = usedBytes();

  const length = await lengthOf(body.nextAttempt());

  ok(usedBytes() - before < allowedBytes);
  strictEqual(await lengthOf(body.nextAttempt()), length);
});

Deno.test("a body that comes byte by byte takes no more memory to mirror than any other", async () => {
  const { original, copy } = mirrorBody(new DrippingBody());
  const before = usedBytes();

  await lengthOf(original);

  ok(usedBytes() - before < allowedBytes);
  strictEqual(await lengthOf(copy), size);
});

/** Announces its length, and comes in chunks of 64 KiB. */
class AnnouncedBody implements Body {
  readonly trailers = undefined;
  readonly #chunk = new Uint8Array(64 * 1024);
  #left: number;

  constructor(readonly length: number, sent = length) {
    this.#left = sent;
  }

  read(): Uint8Array | undefined {
    this.#left -= this.#chunk.length;
    return this.#left < 0 ? undefined : this.#chunk;
  }

  cancel(): void {}
}

const mebibyte = 1024 * 1024;

Deno.test("a long body is not copied again and again while it comes, as its length is known", async () => {
  const message = { body: new AnnouncedBody(8 * mebibyte) };

  const whole = await peekBody(message, 32 * mebibyte);

  strictEqual(whole?.length, 8 * mebibyte);
  strictEqual(whole.buffer.byteLength, 8 * mebibyte);
});

Deno.test("a body that announces much and sends little gets memory for little", async () => {
  const body = new AnnouncedBody(32 * mebibyte, mebibyte);

  const whole = await peekBody({ body }, 32 * mebibyte);

  strictEqual(whole?.length, mebibyte);
  ok(whole.buffer.byteLength <= 2 * mebibyte);
});
