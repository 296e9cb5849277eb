/** Memory for bodies that are read before they are forwarded: of all requests and workers together. */
import assert from "node:assert/strict";
import { GatewayProcess } from "../harness/gateway_process.ts";
import { connectRaw, statusOf } from "../harness/raw_exchange.ts";

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
