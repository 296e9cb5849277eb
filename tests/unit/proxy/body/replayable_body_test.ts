import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { Body } from "../../../../src/http/body.ts";
import {
  BodyMemory,
  createBodyMemory,
  HeldBytes,
} from "../../../../src/http/body_memory.ts";
import { ChunkedBody } from "../../../harness/clients/chunked_body.ts";
import { ReplayableBody } from "../../../../src/proxy/body/replayable_body.ts";

async function textOf(body: Body): Promise<string> {
  let text = "";
  for (let chunk = await body.read(); chunk; chunk = await body.read()) {
    text += new TextDecoder().decode(chunk);
  }
  return text;
}

Deno.test("ReplayableBody returns the same bytes to the next attempt", async () => {
  const source = new ChunkedBody("one ", "two ", "three");
  const body = new ReplayableBody(source, 1024);

  const first = await textOf(body.nextAttempt());

  strictEqual(first, "one two three");
  strictEqual(await textOf(body.nextAttempt()), "one two three");
});

Deno.test("ReplayableBody continues with the rest when an attempt stopped half way", async () => {
  const source = new ChunkedBody("one ", "two ", "three");
  const body = new ReplayableBody(source, 1024);
  const failed = body.nextAttempt();
  await failed.read();
  failed.cancel("try failed");

  strictEqual(await textOf(body.nextAttempt()), "one two three");
});

Deno.test("ReplayableBody gives the next attempt what a failed one was still waiting for", async () => {
  const source = new ChunkedBody("one ", "two");
  const body = new ReplayableBody(source, 1024);
  const left = body.nextAttempt().read();

  const text = textOf(body.nextAttempt());

  await rejects(async () => await left, /^Error: The attempt is over$/);
  strictEqual(await text, "one two");
});

Deno.test("ReplayableBody loses nothing that arrives while the next attempt connects", async () => {
  const source = new ChunkedBody("one ", "two ", "three");
  const body = new ReplayableBody(source, 1024);
  const failed = body.nextAttempt();
  await failed.read();
  const left = failed.read();
  const next = body.nextAttempt();

  await rejects(async () => await left);

  strictEqual(await textOf(next), "one two three");
});

Deno.test("ReplayableBody loses nothing that arrives between two attempts and exceeds the limit for a third", async () => {
  const source = new ChunkedBody("one ", "two ", "three ", "four");
  const body = new ReplayableBody(source, 8);
  const failed = body.nextAttempt();
  await failed.read();
  await failed.read();
  const left = failed.read();
  body.endAttempt();

  await rejects(async () => await left);
  failed.cancel("late news");

  strictEqual(await textOf(body.nextAttempt()), "one two three four");
  strictEqual(body.replayable, false);
  deepStrictEqual(source.cancelledWith, []);
});

Deno.test("ReplayableBody loses nothing of the last attempt", async () => {
  const source = new ChunkedBody("one ", "two ", "three");
  const body = new ReplayableBody(source, 1024);
  const failed = body.nextAttempt();
  await failed.read();
  const left = failed.read();
  const last = body.nextAttempt();
  body.settle();

  await rejects(async () => await left);

  strictEqual(await textOf(last), "one two three");
});

Deno.test("ReplayableBody is not replayable beyond its limit", async () => {
  const body = new ReplayableBody(new ChunkedBody("12345", "67890"), 8);

  strictEqual(await textOf(body.nextAttempt()), "1234567890");
  strictEqual(body.replayable, false);
});

Deno.test("ReplayableBody does not cancel the client's body while another attempt may follow", () => {
  const source = new ChunkedBody("one");
  const body = new ReplayableBody(source, 1024);

  body.nextAttempt().cancel("first try failed");
  body.endAttempt();
  deepStrictEqual(source.cancelledWith, []);

  body.settle();
  deepStrictEqual(source.cancelledWith, ["first try failed"]);
});

Deno.test("ReplayableBody counts what it saves, until there is no further attempt", async () => {
  const memory = new BodyMemory(createBodyMemory(1, 64 * 1024));
  const source = new ChunkedBody("a".repeat(8 * 1024), "b".repeat(8 * 1024));
  const body = new ReplayableBody(source, 1 << 20, new HeldBytes(memory));

  const text = await textOf(body.nextAttempt());
  strictEqual(memory.fill.used, 16 * 1024);
  body.settle();

  strictEqual(text.length, 16 * 1024);
  strictEqual(memory.fill.used, 0);
});

Deno.test("ReplayableBody goes on without a further attempt when there is no memory for it", async () => {
  const memory = new BodyMemory(createBodyMemory(1, 12 * 1024));
  const source = new ChunkedBody("a".repeat(8 * 1024), "b".repeat(8 * 1024));
  const body = new ReplayableBody(source, 1 << 20, new HeldBytes(memory));

  const text = await textOf(body.nextAttempt());

  strictEqual(text.length, 16 * 1024);
  strictEqual(body.replayable, false);
  strictEqual(memory.fill.used, 0);
});
