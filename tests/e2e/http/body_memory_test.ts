/** Memory for bodies that are read before they are forwarded: of all requests and workers together. */
import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { startProvider } from "../../harness/llm/provider_server.ts";
import { connectRaw, statusOf } from "../../harness/clients/raw_exchange.ts";

const KIB = 1024;

for (const workers of [1, 2]) {
  Deno.test(`half-sent bodies fill the memory for bodies and no more, with ${workers} workers`, async () => {
    await using gateway = await GatewayProcess.start({
      config: {
        config: { workers, limits: { maxBodyMemoryBytes: KIB * KIB } },
        routes: [{
          name: "all",
          policies: {
            transformation: {
              request: { set: [{ name: "x-body", value: "request.body" }] },
            },
            directResponse: { status: 200, body: "ok" },
          },
        }],
      },
    });
    const head = (length: number) =>
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;
    const heldKib = async () => {
      const { stores } = await (await fetch(`${gateway.admin}/memory`)).json();
      const { used } = stores.find(({ name }: { name: string }) =>
        name === "requestBodies"
      );
      return used / KIB;
    };
    const slow = await Promise.all(
      [1, 2, 3, 4].map(() => connectRaw(gateway.port)),
    );
    for (const client of slow) {
      await client.send(head(1024 * KIB) + "a".repeat(180 * KIB));
    }
    while (await heldKib() < 720);

    const large = await connectRaw(gateway.port);
    await large.send(head(100 * KIB) + "a".repeat(100 * KIB));
    const rejected = await large.request();
    assert.equal(statusOf(rejected), 503);
    assert.match(rejected, /^x-gateway-error: body_memory_full\r$/m);
    assert.match(rejected, /^retry-after: 1\r$/m);
    await gateway.accessLog.next(
      /reason=body_memory_full error="Cannot hold the body: all requests together hold 7\d\d of 1024 KiB"/,
    );
    const small = await connectRaw(gateway.port);
    await small.send(head(60 * KIB) + "a".repeat(60 * KIB));
    assert.equal(statusOf(await small.request()), 200);

    for (const client of slow) client.close();
    while (await heldKib() > 0);
    const again = await connectRaw(gateway.port);
    await again.send(head(100 * KIB) + "a".repeat(100 * KIB));
    assert.equal(statusOf(await again.request()), 200);
    for (const client of [large, small, again]) client.close();
  });
}

Deno.test("a translated request holds no memory while its response streams, and its whole answer does", async () => {
  const event = 'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}';
  await using provider = startProvider(({ target }) =>
    target.includes(":stream")
      ? new Response(
        ReadableStream.from((async function* () {
          yield new TextEncoder().encode(`${event}\n\n`);
          await new Promise(() => {});
        })()),
        { headers: { "content-type": "text/event-stream" } },
      )
      : Response.json({ text: "a".repeat(900 * KIB) })
  );
  await using gateway = await GatewayProcess.start({
    config: {
      config: { limits: { maxBodyMemoryBytes: KIB * KIB } },
      routes: [{
        name: "llm",
        backends: [{
          llm: { provider: "Gemini", host: provider.host, plainText: true },
        }],
      }],
    },
  });
  const ask = (stream: boolean) =>
    fetch(`http://127.0.0.1:${gateway.port}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify({
        model: "m",
        stream,
        messages: [{ role: "user", content: "a".repeat(300 * KIB) }],
      }),
    });

  const streams = [await ask(true), await ask(true), await ask(true)];
  const { stores } = await (await fetch(`${gateway.admin}/memory`)).json();
  const whole = await ask(false);
  await whole.body?.cancel();
  for (const { body } of streams) await body?.cancel();

  assert.deepEqual(streams.map(({ status }) => status), [200, 200, 200]);
  const { used } = stores.find(({ name }: { name: string }) =>
    name === "requestBodies"
  );
  assert.equal(used, 0);
  assert.equal(whole.status, 503);
  assert.equal(whole.headers.get("x-gateway-error"), "body_memory_full");
});
