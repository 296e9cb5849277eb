import assert from "node:assert/strict";
import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { startOtlpCollector } from "../../harness/servers/otlp_collector.ts";

/** Starts a gateway that samples everything. */
async function startGateway(otlp: Readonly<Record<string, unknown>>) {
  const upstream = serveLoopback(0, () => new Response("hello"));
  const gateway = await startTestGateway({
    // The counts of workers are gone once they have stopped.
    config: { otlp, tracing: {}, workers: 1 },
    routes: [{
      name: "all",
      backends: [{ host: new URL(upstream.origin).host }],
    }],
  });
  return {
    gateway: gateway.gateway,
    log: gateway.log,
    async get() {
      const response = await fetch(gateway.origin);
      assert.equal(await response.text(), "hello");
    },
    /** Series of the metrics of exports, with their values. */
    async counts() {
      const text = await gateway.gateway.dataPlane.call("collectMetrics");
      return text.match(/^gateway_otlp_.*$/gm) ?? [];
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await upstream.close();
    },
  };
}

Deno.test("a collector that is down costs spans, which are counted, and one line of the log", async () => {
  const test = await startGateway({
    endpoint: `http://127.0.0.1:${freePort()}`,
  });
  for (let i = 0; i < 5; i++) await test.get();
  await test[Symbol.asyncDispose]();

  assert.deepEqual(await test.counts(), [
    'gateway_otlp_dropped_total{signal="traces",reason="unavailable"} 10',
  ]);
  const lines = test.log.filter((line) => line.includes("OpenTelemetry"));
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /warn\totlp\tCannot export .* signal=traces/);
});

for (const protocol of ["http", "grpc"] as const) {
  Deno.test(`a collector that rejects spans gets them once, over ${protocol}`, async () => {
    await using collector = await startOtlpCollector(protocol, {
      reply: () => ({ status: 400, grpcStatus: 3 }),
    });
    const { endpoint } = collector;
    const test = await startGateway({ endpoint, protocol });
    await test.get();
    await test[Symbol.asyncDispose]();

    assert.equal(collector.received.length, 1);
    assert.deepEqual(await test.counts(), [
      'gateway_otlp_dropped_total{signal="traces",reason="rejected"} 2',
    ]);
  });

  Deno.test(`a collector that is away for a moment gets all spans later, over ${protocol}`, async () => {
    let attempts = 0;
    await using collector = await startOtlpCollector(protocol, {
      reply: () =>
        attempts++ === 0
          ? { status: 503, headers: { "retry-after": "0" }, grpcStatus: 14 }
          : {},
    });
    const { endpoint } = collector;
    const test = await startGateway({ endpoint, protocol });
    await test.get();
    await collector.until(() => collector.spans.length === 2);
    await test[Symbol.asyncDispose]();

    assert.equal(collector.received.length, 2);
    assert.deepEqual(await test.counts(), [
      'gateway_otlp_exported_total{signal="traces"} 2',
    ]);
  });

  Deno.test(`spans that a collector rejects among others are counted, over ${protocol}`, async () => {
    await using collector = await startOtlpCollector(protocol, {
      reply: () => ({ rejected: 1 }),
    });
    const { endpoint } = collector;
    const test = await startGateway({ endpoint, protocol });
    await test.get();
    await test[Symbol.asyncDispose]();

    assert.deepEqual(await test.counts(), [
      'gateway_otlp_exported_total{signal="traces"} 1',
      'gateway_otlp_dropped_total{signal="traces",reason="rejected"} 1',
    ]);
  });

  Deno.test(`a collector that never responds delays nothing but the stop, by a second, over ${protocol}`, async () => {
    const done = Promise.withResolvers<Record<string, never>>();
    await using collector = await startOtlpCollector(protocol, {
      reply: () => done.promise,
    });
    const { endpoint } = collector;
    const test = await startGateway({ endpoint, protocol });
    await test.get();
    await test[Symbol.asyncDispose]();
    done.resolve({});

    assert.deepEqual(await test.counts(), [
      'gateway_otlp_dropped_total{signal="traces",reason="unavailable"} 2',
    ]);
  });
}

Deno.test("secrets of the exporter are sent, and shown nowhere", async () => {
  await using collector = await startOtlpCollector("http");
  const { endpoint } = collector;
  const secret = "top-secret-key";
  const test = await startGateway({
    endpoint,
    headers: { "x-api-key": secret },
    resourceAttributes: { "service.name": "edge" },
  });
  await test.get();
  const dump = JSON.stringify(await test.gateway.dataPlane.call("describe"));
  await test[Symbol.asyncDispose]();

  const [{ headers, resource } = assert.fail()] = collector.received;
  assert.equal(headers["x-api-key"], secret);
  assert.equal(headers[":path"], "/v1/traces");
  assert.equal(resource["service.name"], "edge");
  assert(!dump.includes(secret));
  assert(!test.log.join("").includes(secret));
});

Deno.test("each worker exports the spans of its requests", async () => {
  await using collector = await startOtlpCollector("http");
  const { endpoint } = collector;
  const upstream = serveLoopback(0, () => new Response("hello"));
  {
    await using gateway = await startTestGateway({
      config: { otlp: { endpoint }, tracing: {}, workers: 2 },
      routes: [{
        name: "all",
        backends: [{ host: new URL(upstream.origin).host }],
      }],
    });
    for (let i = 0; i < 20; i++) {
      const headers = { connection: "close" };
      await (await fetch(gateway.origin, { headers })).text();
    }
  }
  await upstream.close();

  const servers = collector.spans.filter(({ kind }) => kind === "SERVER");
  assert.equal(servers.length, 20);
  const instances = collector.received.map(({ resource }) =>
    resource["service.instance.id"]
  );
  assert.equal(new Set(instances).size, 1);
});
