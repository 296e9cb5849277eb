import assert from "node:assert/strict";
import { GatewayError } from "../../../src/base/errors.ts";
import { type Body, BytesBody } from "../../../src/http/body.ts";
import {
  BodyMemory,
  createBodyMemory,
  HeldBytes,
} from "../../../src/http/body_memory.ts";
import { peekBody } from "../../../src/policy/expressions/peeked_body.ts";

const KIB = 1024;
const MIB = KIB * KIB;

function isFull(error: unknown): boolean {
  return error instanceof GatewayError && error.code === "body_memory_full";
}

Deno.test("large bodies share three quarters of the memory of all workers, and the rest is for small ones", () => {
  const state = createBodyMemory(2, MIB);
  const [one, two] = [new BodyMemory(state, 1), new BodyMemory(state, 2)];
  const large = new HeldBytes(one);
  large.take(500 * KIB);
  new HeldBytes(two).take(268 * KIB);

  assert.throws(() => new HeldBytes(two).take(65 * KIB), isFull);
  assert.throws(() => large.take(1 * KIB), isFull);
  for (let small = 0; small < 4; small++) new HeldBytes(two).take(64 * KIB);
  assert.throws(() => new HeldBytes(two).take(1), isFull);

  large.release();
  large.release();
  new HeldBytes(two).take(200 * KIB);
  assert.equal(one.fill.used, 0);
});

Deno.test("what a worker held that has ended is free", () => {
  const state = createBodyMemory(2, MIB);
  const [one, two] = [new BodyMemory(state, 1), new BodyMemory(state, 2)];
  new HeldBytes(one).take(700 * KIB);
  assert.throws(() => new HeldBytes(two).take(100 * KIB), isFull);

  one.clear();

  new HeldBytes(two).take(700 * KIB);
});

Deno.test("a body is held until it is forwarded or cancelled, also when it was read twice", async () => {
  const memory = new BodyMemory(createBodyMemory(1, MIB));
  const bytes = new Uint8Array(100 * KIB);
  const message = (): { body: Body; readonly held: HeldBytes } => ({
    body: new BytesBody(bytes),
    held: new HeldBytes(memory),
  });
  const drain = async ({ body }: ReturnType<typeof message>) => {
    let length = 0;
    for (let part = await body.read(); part; part = await body.read()) {
      length += part.length;
    }
    return length;
  };

  const forwarded = message();
  assert.equal((await peekBody(forwarded, MIB))?.length, 100 * KIB);
  assert.equal((await peekBody(forwarded, MIB))?.length, 100 * KIB);
  assert.equal(memory.fill.used, 100 * KIB);
  assert.equal(await drain(forwarded), 100 * KIB);
  assert.equal(memory.fill.used, 0);

  const cancelled = message();
  await peekBody(cancelled, MIB);
  cancelled.body.cancel("denied");
  assert.equal(memory.fill.used, 0);
});
