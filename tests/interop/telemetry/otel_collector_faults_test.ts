/** Outages of the official OpenTelemetry collector cost spans and nothing else: `make interop-otel`. */
import assert from "node:assert/strict";
import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { until } from "../../harness/servers/held_upstream.ts";
import {
  spansOf,
  startRealCollector,
} from "../../harness/servers/real_collector.ts";

const REQUESTS = 20;
/** One of the gateway and one of its attempt. */
const SPANS = 2 * REQUESTS;

type Protocol = "http" | "grpc";

/** Starts a gateway that samples everything. */
async function startGateway(endpoint: string, protocol: Protocol) {
  const upstream = serveLoopback(0, () => new Response("hello"));
  const gateway = await startTestGateway({
    // The counts of workers are gone once they have stopped.
    config: { otlp: { endpoint, protocol }, tracing: {}, workers: 1 },
    routes: [{
      name: "all",
      backends: [{ host: new URL(upstream.origin).host }],
    }],
  });
  let isStopped = false;
  const stop = async () => {
    if (isStopped) return;
    isStopped = true;
    await gateway[Symbol.asyncDispose]();
    await upstream.close();
  };
  return {
    stop,
    /** Each request gets its response, whatever the collector does. */
    async sendRequests() {
      for (let i = 0; i < REQUESTS; i++) {
        assert.equal(await (await fetch(gateway.origin)).text(), "hello");
      }
    },
    /** Series of the metrics of exports, with their values. */
    async counts(): Promise<readonly string[]> {
      const text = await gateway.gateway.dataPlane.call("collectMetrics");
      return text.match(/^gateway_otlp_.*$/gm) ?? [];
    },
    [Symbol.asyncDispose]: stop,
  };
}

const exported = `gateway_otlp_exported_total{signal="traces"} ${SPANS}`;

function dropped(reason: string): string {
  return `gateway_otlp_dropped_total{signal="traces",reason="${reason}"} ${SPANS}`;
}

for (const protocol of ["http", "grpc"] as const) {
  Deno.test(`a collector that is down gets all spans once it is back, over ${protocol}`, async () => {
    const ports = { http: freePort(), grpc: freePort() };
    await using gateway = await startGateway(
      `http://127.0.0.1:${ports[protocol]}`,
      protocol,
    );
    await gateway.sendRequests();
    await using collector = await startRealCollector({ ports });
    await until(async () => (await gateway.counts()).includes(exported));
    await gateway.stop();

    assert.equal(spansOf(await collector.stop(), "gateway").length, SPANS);
    assert.deepEqual(await gateway.counts(), [exported]);
  });

  Deno.test(`a collector that stays down costs spans, which are counted, over ${protocol}`, async () => {
    await using gateway = await startGateway(
      `http://127.0.0.1:${freePort()}`,
      protocol,
    );
    await gateway.sendRequests();
    await gateway.stop();

    assert.deepEqual(await gateway.counts(), [dropped("unavailable")]);
  });

  Deno.test(`a collector that is slow delays no request, and gets all spans, over ${protocol}`, async () => {
    await using collector = await startRealCollector();
    await using gateway = await startGateway(collector[protocol], protocol);
    collector.signal("SIGSTOP");
    await gateway.sendRequests();
    assert.deepEqual(await gateway.counts(), []);
    collector.signal("SIGCONT");
    await until(async () => (await gateway.counts()).includes(exported));
    await gateway.stop();

    const spans = spansOf(await collector.stop(), "gateway");
    assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, SPANS);
  });

  Deno.test(`a collector that takes no spans costs them, counted, over ${protocol}`, async () => {
    await using collector = await startRealCollector({ signals: ["logs"] });
    await using gateway = await startGateway(collector[protocol], protocol);
    await gateway.sendRequests();
    await gateway.stop();

    assert.deepEqual(await gateway.counts(), [dropped("rejected")]);
  });
}
