import assert from "node:assert/strict";
import type { Body } from "../../../../src/http/body.ts";
import { TranslatedBody } from "../../../../src/proxy/llm/translated_body.ts";

/** A source whose chunks are at hand, or arrive later where they are promises. */
function sourceOf(
  chunks: readonly (string | Promise<string>)[],
): Body & { readonly cancelled: readonly unknown[] } {
  const encoder = new TextEncoder();
  const left = [...chunks];
  const cancelled: unknown[] = [];
  return {
    length: undefined,
    trailers: undefined,
    cancelled,
    read() {
      const next = left.shift();
      return next instanceof Promise
        ? next.then((text) => encoder.encode(text))
        : next === undefined
        ? undefined
        : encoder.encode(next);
    },
    cancel: (reason) => void cancelled.push(reason),
  };
}

function eventOf(text: string): string {
  return `data: ${JSON.stringify({ text })}\n\n`;
}

/** Writes the texts of events one after the other. */
function translated(
  source: Body,
  kept?: () => Promise<void>,
): TranslatedBody {
  return new TranslatedBody(source, "text/event-stream", {
    reader: {
      whole: () => [],
      event: ({ text }) => [
        text === "end"
          ? { type: "finish", reason: "stop" }
          : { type: "text", text: String(text) },
      ],
      end: () => [],
    },
    writer: {
      whole: () => ({}),
      event: (event) => event.type === "text" ? event.text : "",
      end: () => "[end]",
    },
    ...(kept && { kept }),
  });
}

async function read(body: TranslatedBody): Promise<string | undefined> {
  const bytes = await body.read();
  return bytes && new TextDecoder().decode(bytes);
}

Deno.test("events that have arrived together are written together, and nothing waits for later ones", async () => {
  const later = Promise.withResolvers<string>();
  const body = translated(
    sourceOf([eventOf("a"), eventOf("b"), later.promise, eventOf("end")]),
  );

  assert.equal(await read(body), "ab");
  later.resolve(eventOf("c"));
  assert.equal(await read(body), "c[end]");
  assert.equal(await read(body), undefined);
});

Deno.test("events before a broken one, or before the end of an incomplete stream, come first", async () => {
  const source = sourceOf([eventOf("a"), "data: broken\n\n", eventOf("b")]);
  const broken = translated(source);
  assert.equal(await read(broken), "a");
  await assert.rejects(read(broken), /Cannot translate the answer/);
  assert.equal(source.cancelled.length, 1);

  const incomplete = translated(sourceOf([eventOf("a")]));
  assert.equal(await read(incomplete), "a");
  await assert.rejects(read(incomplete), /ended before the answer/);
});

Deno.test("the end is written when the answer is kept, and not when keeping it fails", async () => {
  let isKept = false;
  const body = translated(
    sourceOf([eventOf("a"), eventOf("end")]),
    async () => {
      await Promise.resolve();
      isKept = true;
    },
  );
  assert.equal(await read(body), "a[end]");
  assert.ok(isKept);

  const lost = translated(
    sourceOf([eventOf("a"), eventOf("end")]),
    () => Promise.reject(new Error("not kept")),
  );
  assert.equal(await read(lost), "a");
  await assert.rejects(read(lost), /not kept/);
});
