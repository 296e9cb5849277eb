import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { startProvider } from "../../harness/llm/provider_server.ts";

const KEY = "sk-planted-5f0a77c1";
const quote = JSON.stringify({
  error: { message: `Invalid use of ${KEY} and again ${KEY}`, code: null },
});

/** Bodies of an error that quotes the key. */
const bodies: Readonly<Record<string, () => [BodyInit, HeadersInit]>> = {
  "at once": () => [quote, {}],
  "byte by byte": () => [
    new ReadableStream<Uint8Array<ArrayBuffer>>({
      async start(controller) {
        for (const byte of new TextEncoder().encode(quote)) {
          controller.enqueue(Uint8Array.of(byte));
          await Promise.resolve();
        }
        controller.close();
      },
    }),
    {},
  ],
  compressed: () => [
    new Blob([quote]).stream().pipeThrough(new CompressionStream("gzip")),
    { "content-encoding": "gzip" },
  ],
  "in an unknown coding": () => [quote, { "content-encoding": "exi" }],
};

for (const [name, bodyOf] of Object.entries(bodies)) {
  for (const status of [400, 500]) {
    Deno.test(`an error ${status} that quotes the gateway's key, ${name}, does not show it`, async () => {
      await using provider = startProvider(() => {
        const [body, headers] = bodyOf();
        return new Response(body, {
          status,
          headers: {
            "content-type": "application/json",
            "x-debug": `key ${KEY}`,
            ...Object.fromEntries(new Headers(headers)),
          },
        });
      });
      await using gateway = await startTestGateway({
        routes: [{
          backends: [{
            llm: {
              provider: "OpenAI",
              host: provider.host,
              plainText: true,
              credentials: { key: KEY },
            },
          }],
        }],
      });

      const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: "POST",
        body: '{"model":"m","messages":[]}',
      });
      const text = await response.text();

      assert.equal(response.status, status);
      assert.equal(
        provider.requests[0]?.headers.get("authorization"),
        `Bearer ${KEY}`,
      );
      assert.doesNotMatch(text, /sk-planted/);
      assert.equal(response.headers.get("x-debug"), "key <redacted>");
      const expected = name === "in an unknown coding"
        ? ""
        : quote.replaceAll(KEY, "<redacted>");
      assert.equal(text, expected);
    });
  }
}

Deno.test("a good response stays as it is", async () => {
  await using provider = startProvider(() => Response.json({ text: KEY }));
  await using gateway = await startTestGateway({
    routes: [{
      backends: [{
        llm: {
          provider: "OpenAI",
          host: provider.host,
          plainText: true,
          credentials: { key: KEY },
        },
      }],
    }],
  });

  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: "POST",
    body: '{"model":"m","messages":[]}',
  });

  assert.equal(await response.text(), JSON.stringify({ text: KEY }));
});
