import assert from "node:assert/strict";
import type { Body } from "../../../../src/http/body.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import {
  BodyCapture,
  type CapturedBody,
} from "../../../../src/proxy/trace/body_capture.ts";
import {
  SensitiveNames,
  TraceRedactor,
} from "../../../../src/telemetry/trace/trace_redactor.ts";

const secret = "planted-" + "s".repeat(92);

/** Gives its chunks in one buffer that is filled again and again, as a connection does. */
class RefilledBody implements Body {
  readonly trailers = undefined;
  readonly #chunks: string[];
  readonly #buffer = new Uint8Array(100_000);

  constructor(
    chunks: readonly string[],
    readonly length: number | undefined,
  ) {
    this.#chunks = [...chunks];
  }

  read(): Uint8Array | undefined {
    const chunk = this.#chunks.shift();
    if (chunk === undefined) return undefined;
    new TextEncoder().encodeInto(chunk, this.#buffer);
    return this.#buffer.subarray(0, chunk.length);
  }

  cancel(): void {}
}

function capture(
  chunks: readonly string[],
  length?: number,
): { readonly body: Body; readonly captured: readonly CapturedBody[] } {
  const names = new SensitiveNames(new Set(["authorization"]), new Set());
  const redactor = new TraceRedactor(names);
  redactor.learn(HeaderList.from([["authorization", secret]]));
  const captured: CapturedBody[] = [];
  const { body } = new BodyCapture(
    new RefilledBody(chunks, length),
    redactor,
    (each) => captured.push(each),
  );
  return { body, captured };
}

async function readAll(body: Body): Promise<string> {
  let text = "";
  for (let chunk = await body.read(); chunk; chunk = await body.read()) {
    text += new TextDecoder().decode(chunk);
  }
  return text;
}

Deno.test("BodyCapture captures what the reader gets, and reports it at the end", async () => {
  const { body, captured } = capture(["one", "two"]);

  assert.equal(await readAll(body), "onetwo");
  assert.deepEqual(captured, [{ body: btoa("onetwo") }]);
});

Deno.test("BodyCapture ends with the last byte of a known length", async () => {
  const { body, captured } = capture(["one", "two"], 6);

  await body.read();
  assert.equal(captured.length, 0);
  await body.read();

  assert.deepEqual(captured, [{ body: btoa("onetwo") }]);
});

Deno.test("BodyCapture reports the read part of a cancelled body, and nothing for an empty one", async () => {
  const { body, captured } = capture(["one", "two"]);
  await body.read();
  body.cancel("enough");
  const empty = capture([]);
  await readAll(empty.body);

  assert.deepEqual(captured, [{ body: btoa("one") }]);
  assert.deepEqual(empty.captured, []);
});

const padding: readonly (readonly [what: string, before: string])[] = [
  ["in the middle", "x".repeat(1000)],
  ["at the cut", "x".repeat(64 * 1024 - 50)],
  ["at the end of what is kept", "x".repeat(80 * 1024 - 50)],
  [
    "at the end of what is kept, after others",
    secret.repeat(819) + "x".repeat(20 - 8),
  ],
];
for (const [what, before] of padding) {
  Deno.test(`BodyCapture shows no part of a secret ${what}`, async () => {
    const text = before + secret + "y".repeat(100_000);
    const chunks = text.match(/.{1,4096}/g) ?? [];
    const { body, captured } = capture(chunks);

    assert.equal(await readAll(body), text);

    const shown = atob(captured[0]?.body ?? "");
    assert.doesNotMatch(shown, /plan|sss/);
    assert.equal(captured[0]?.truncated, true);
    assert.ok(shown.length <= 64 * 1024);
  });
}
