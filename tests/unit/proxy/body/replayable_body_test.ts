import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { Body } from "../../../../src/http/body.ts";
import { ChunkedBody } from "../../../harness/chunked_body.ts";
import { ReplayableBody } from "../../../../src/proxy/body/replayable_body.ts";

async function textOf(body: Body): Promise<string> {
  let text = "";
  for (let chunk = await body.read(); chunk; chunk = await body.read()) {
    text += new TextDecoder().decode(chunk);
  }
  return text;
}

Deno.test("ReplayableBody gives the same bytes again to the next try", async () => {
  const source = new ChunkedBody("one ", "two ", "three");
  const body = new ReplayableBody(source, 1024);

  const first = await textOf(body.nextTry());

  strictEqual(first, "one two three");
  strictEqual(await textOf(body.nextTry()), "one two three");
});

Deno.test("ReplayableBody goes on with the rest when a try stopped half way", async () => {
  const source = new ChunkedBody("one ", "two ", "three");
  const body = new ReplayableBody(source, 1024);
  const failed = body.nextTry();
  await failed.read();
  failed.cancel("try failed");

  strictEqual(await textOf(body.nextTry()), "one two three");
});

Deno.test("ReplayableBody gives the next try what a failed one was still waiting for", async () => {
  const source = new ChunkedBody("one ", "two");
  const body = new ReplayableBody(source, 1024);
  const left = body.nextTry().read();

  const text = textOf(body.nextTry());

  await rejects(async () => await left, /^Error: The try is over$/);
  strictEqual(await text, "one two");
});

Deno.test("ReplayableBody loses nothing that comes while the next try is still connecting", async () => {
  const source = new ChunkedBody("one ", "two ", "three");
  const body = new ReplayableBody(source, 1024);
  const failed = body.nextTry();
  await failed.read();
  const left = failed.read();
  const next = body.nextTry();

  await rejects(async () => await left);

  strictEqual(await textOf(next), "one two three");
});

Deno.test("ReplayableBody loses nothing that comes between two tries and is too much for a third", async () => {
  const source = new ChunkedBody("one ", "two ", "three ", "four");
  const body = new ReplayableBody(source, 8);
  const failed = body.nextTry();
  await failed.read();
  await failed.read();
  const left = failed.read();
  body.endTry();

  await rejects(async () => await left);
  failed.cancel("late news");

  strictEqual(await textOf(body.nextTry()), "one two three four");
  strictEqual(body.replayable, false);
  deepStrictEqual(source.cancelledWith, []);
});

Deno.test("ReplayableBody loses nothing of the last try", async () => {
  const source = new ChunkedBody("one ", "two ", "three");
  const body = new ReplayableBody(source, 1024);
  const failed = body.nextTry();
  await failed.read();
  const left = failed.read();
  const last = body.nextTry();
  body.settle();

  await rejects(async () => await left);

  strictEqual(await textOf(last), "one two three");
});

Deno.test("ReplayableBody is not replayable once more was sent than it may keep", async () => {
  const body = new ReplayableBody(new ChunkedBody("12345", "67890"), 8);

  strictEqual(await textOf(body.nextTry()), "1234567890");
  strictEqual(body.replayable, false);
});

Deno.test("ReplayableBody spares the client's body while another try may follow", () => {
  const source = new ChunkedBody("one");
  const body = new ReplayableBody(source, 1024);

  body.nextTry().cancel("first try failed");
  body.endTry();
  deepStrictEqual(source.cancelledWith, []);

  body.settle();
  deepStrictEqual(source.cancelledWith, ["first try failed"]);
});
