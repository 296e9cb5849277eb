import assert from "node:assert/strict";
import { InputBuffer } from "../../../../src/http/http1/input_buffer.ts";
import type { Transport } from "../../../../src/http/transport.ts";

/** A transport whose reads the test completes. */
class SlowTransport implements Transport {
  readonly #pending: { into: Uint8Array; done: (count: number) => void }[] = [];

  get reads(): number {
    return this.#pending.length;
  }

  read(into: Uint8Array): Promise<number> {
    return new Promise((done) => this.#pending.push({ into, done }));
  }

  /** Completes the first pending read. */
  arrive(text: string): void {
    const read = this.#pending.shift();
    read?.into.set(new TextEncoder().encode(text));
    read?.done(text.length);
  }

  write(bytes: Uint8Array): Promise<number> {
    return Promise.resolve(bytes.length);
  }

  closeWrite(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {}
}

Deno.test("InputBuffer shares one read among all callers", async () => {
  const transport = new SlowTransport();
  const input = new InputBuffer(transport);

  const fills = [input.fill(), input.fill()];
  assert.equal(transport.reads, 1);
  transport.arrive("abc");

  assert.deepEqual(await Promise.all(fills), [true, true]);
  assert.equal(new TextDecoder().decode(input.take(9)), "abc");
});

Deno.test("InputBuffer loses no data while it grows or shrinks", async () => {
  const transport = new SlowTransport();
  const input = new InputBuffer(transport);
  input.growForBody();

  const first = input.fill();
  input.shrink();
  transport.arrive("abc");
  await first;
  input.take(3);
  input.shrink();
  const second = input.fill();
  input.growForBody();
  transport.arrive("def");
  await second;
  input.release();

  assert.equal(new TextDecoder().decode(input.take(9)), "def");
});

Deno.test("InputBuffer returns bytes that slice copies", async () => {
  const transport = new SlowTransport();
  const input = new InputBuffer(transport);
  const filled = input.fill();
  transport.arrive("one");
  await filled;

  const kept = input.take(3).slice();
  const again = input.fill();
  transport.arrive("two");
  await again;

  assert.equal(new TextDecoder().decode(kept), "one");
});

Deno.test("InputBuffer grows on demand up to a limit", () => {
  const sizes = [0, 1000, 10_000, 30_000, 64 * 1024, 1e9, undefined].map(
    (length) => {
      const input = new InputBuffer(new SlowTransport());
      input.growForBody(length);
      return input.bytes.length / 1024;
    },
  );

  assert.deepEqual(sizes, [4, 4, 12, 32, 68, 68, 68]);
});

Deno.test("InputBuffer of a few connections keeps its size until they end", async () => {
  const receiveLarge = async () => {
    const transport = new SlowTransport();
    const input = new InputBuffer(transport);
    input.growForBody();
    const filled = input.fill();
    transport.arrive("abc");
    await filled;
    input.take(3);
    input.shrink();
    return input;
  };
  const isLarge = ({ bytes }: InputBuffer) => bytes.length > 64 * 1024;

  const first = await Promise.all(Array.from({ length: 64 }, receiveLarge));
  const next = await receiveLarge();
  first[0]?.release();
  const last = await receiveLarge();

  assert.ok(first.every(isLarge));
  assert.deepEqual([next, last].map(isLarge), [false, true]);
  for (const input of [...first, next, last]) input.release();
});
