import assert from "node:assert/strict";
import { LineWriter } from "../../../../src/telemetry/log/line_writer.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

/** An output that takes what it gets, at most `chunk` bytes at once. */
function createOutput(chunk = Infinity) {
  const writes: string[] = [];
  const clock = new FakeClock();
  const write = (bytes: Uint8Array) => {
    const taken = bytes.subarray(0, chunk);
    writes.push(new TextDecoder().decode(taken));
    return Promise.resolve(taken.length);
  };
  return {
    writes,
    clock,
    writer: new LineWriter({ write, clock, maxDelayMs: 100 }),
  };
}

/** An output that nobody reads until `open` is called. */
function createBlockedOutput() {
  const gate = Promise.withResolvers<void>();
  const writes: string[] = [];
  const write = async (bytes: Uint8Array) => {
    await gate.promise;
    writes.push(new TextDecoder().decode(bytes));
    return bytes.length;
  };
  const writer = new LineWriter({
    write,
    clock: new FakeClock(),
    maxDelayMs: 100,
  });
  return { writes, writer, open: () => gate.resolve() };
}

async function microtasks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve();
}

Deno.test("LineWriter buffers lines and writes them together after the delay", async () => {
  const { writer, writes, clock } = createOutput();

  writer.write("a\n");
  writer.write("b\n");
  clock.advance(99);
  const early = [...writes];
  clock.advance(1);
  await writer.flush();

  assert.deepEqual(early, []);
  assert.deepEqual(writes, ["a\nb\n"]);
  assert.equal(clock.pending, 0);
});

Deno.test("LineWriter writes at once when the buffer is large enough", async () => {
  const { writer, writes, clock } = createOutput();

  writer.write("x".repeat(16 * 1024));

  assert.equal(writes.length, 1);
  await writer.flush();
  assert.equal(clock.pending, 0);
});

Deno.test("LineWriter continues after a partial write", async () => {
  const { writer, writes } = createOutput(3);

  writer.write("abcdefgh");
  await writer.flush();

  assert.deepEqual(writes, ["abc", "def", "gh"]);
});

Deno.test("LineWriter drops and counts lines beyond its buffer while the output is blocked", async () => {
  const { writer, writes, open } = createBlockedOutput();
  const line = "x".repeat(1023) + "\n";

  for (let i = 0; i < 2000; i++) writer.write(line);
  const dropped = writer.droppedLines;
  open();
  await writer.flush();

  assert.equal(writes.join("").length, (2000 - dropped) * line.length);
  assert.ok(dropped > 900 && dropped < 1000, `${dropped} dropped`);
});

Deno.test("LineWriter writes again after a block", async () => {
  const { writer, writes, open } = createBlockedOutput();
  writer.write("x".repeat(20_000));
  writer.write("late\n");

  open();
  await writer.flush();

  assert.equal(writes.at(-1), "late\n");
});

Deno.test("LineWriter writes a line that is added while a write ends", async () => {
  for (let turns = 0; turns < 10; turns++) {
    const { writer, writes, clock } = createOutput();
    writer.write("x".repeat(20_000));
    await microtasks(turns);

    writer.write("late\n");
    clock.advance(100);
    await microtasks(10);

    assert.equal(writes.at(-1), "late\n", `after ${turns} microtasks`);
  }
});

Deno.test("LineWriter counts the lines of a failed write and continues", async () => {
  const writes: string[] = [];
  let isBroken = true;
  const writer = new LineWriter({
    write(bytes) {
      if (isBroken) return Promise.reject(new Deno.errors.BrokenPipe("gone"));
      writes.push(new TextDecoder().decode(bytes));
      return Promise.resolve(bytes.length);
    },
    clock: new FakeClock(),
    maxDelayMs: 100,
  });

  writer.write("a\n");
  writer.write("b\n");
  await writer.flush();
  isBroken = false;
  writer.write("c\n");
  await writer.flush();

  assert.equal(writer.droppedLines, 2);
  assert.deepEqual(writes, ["c\n"]);
});

Deno.test("LineWriter flush resolves at once when nothing was written", async () => {
  const { writer, writes } = createOutput();

  await writer.flush();

  assert.deepEqual(writes, []);
});

Deno.test("LineWriter reports once a minute why it loses lines", async () => {
  const clock = new FakeClock();
  const reasons: string[] = [];
  const writer = new LineWriter({
    write: () => Promise.reject(new Error("No space left on device")),
    clock,
    maxDelayMs: 100,
  });
  writer.onLoss((reason) => reasons.push(reason));

  for (const waitMs of [0, 59_999, 1]) {
    clock.advance(waitMs);
    writer.write("a\n");
    await writer.flush();
  }

  assert.deepEqual(reasons, [
    "No space left on device",
    "No space left on device",
  ]);
  assert.equal(writer.droppedLines, 3);
});

Deno.test("LineWriter reports a reader that is too slow", async () => {
  const { writer, open } = createBlockedOutput();
  const reasons: string[] = [];
  writer.onLoss((reason) => reasons.push(reason));

  for (let i = 0; i < 3; i++) writer.write("x".repeat(600_000));
  open();
  await writer.flush();

  assert.deepEqual(reasons, ["its reader or its disk is too slow"]);
});
