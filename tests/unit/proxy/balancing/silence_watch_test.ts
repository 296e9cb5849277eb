import assert from "node:assert/strict";
import { BytesBody } from "../../../../src/http/body.ts";
import {
  isPrompt,
  SilenceWatch,
} from "../../../../src/proxy/balancing/silence_watch.ts";

/** A watch, the time in milliseconds, and requests of which it learns. */
class Site {
  time = 0;
  readonly #now = () => this.time;

  constructor(readonly watch = new SilenceWatch()) {}

  send(count: number): this {
    for (let i = 0; i < count; i++) this.watch.sent(this.#now);
    return this;
  }

  /** Sends requests whose responses take so long. */
  respond(count: number, latencyMs: number): this {
    for (let i = 0; i < count; i++) {
      this.send(1);
      this.time += latencyMs;
      this.watch.responded(latencyMs);
    }
    return this;
  }

  isSilentAfter(ms: number): boolean {
    this.time += ms;
    return this.watch.isSilent(this.#now);
  }
}

Deno.test("three requests without a response are a silence after 0.75 s", () => {
  const site = new Site().respond(20, 5).send(3);
  assert.equal(site.isSilentAfter(749), false);
  assert.equal(site.isSilentAfter(1), true);
});

Deno.test("a response ends a silence", () => {
  const site = new Site().respond(20, 5).send(3);
  site.time += 5000;
  site.watch.responded();
  assert.equal(site.isSilentAfter(5000), false);
});

Deno.test("an upstream whose responses take long is not silent while they do", () => {
  const site = new Site().respond(20, 30_000).send(30);
  assert.equal(site.isSilentAfter(100_000), false);
  assert.equal(site.isSilentAfter(20_000), true);
});

Deno.test("one request is a silence only where the usual time is known", () => {
  assert.equal(new Site().send(1).isSilentAfter(60_000), false);
  const site = new Site().respond(20, 5).send(1);
  assert.equal(site.isSilentAfter(1999), false);
  assert.equal(site.isSilentAfter(1), true);
});

Deno.test("clients that disconnect early are no silence, those that waited are", () => {
  const early = new Site().respond(20, 5).send(3);
  for (let i = 0; i < 3; i++) early.watch.abandoned(early.time + 100);
  assert.equal(early.isSilentAfter(60_000), false);
  const late = new Site().respond(20, 5).send(3);
  for (let i = 0; i < 3; i++) late.watch.abandoned(late.time + 5000);
  assert.equal(late.isSilentAfter(5000), true);
});

Deno.test("an upstream that may take long is not judged before it is known", () => {
  const site = new Site(new SilenceWatch(15_000)).send(5);
  assert.equal(site.isSilentAfter(14_999), false);
  assert.equal(site.isSilentAfter(1), true);
});

Deno.test("the time of an upload is not that of the upstream", () => {
  const isPromptWith = (length: number | undefined) =>
    isPrompt({
      upgrade: undefined,
      body: Object.assign(new BytesBody(new Uint8Array()), { length }),
    });
  assert.equal(isPrompt({ upgrade: undefined, body: undefined }), true);
  assert.equal(isPromptWith(1000), true);
  assert.equal(isPromptWith(1_000_000), false);
  assert.equal(isPromptWith(undefined), false);
  assert.equal(isPrompt({ upgrade: "websocket", body: undefined }), false);
});
