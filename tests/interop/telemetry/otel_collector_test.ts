/** Exports to the official OpenTelemetry collector: `make interop-otel`. */
import assert from "node:assert/strict";
import { startLlmServer } from "../../../cli/dev/llm_server.ts";
import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { initializeMcp } from "../../harness/clients/initialize_mcp.ts";
import { startProxiedGateway } from "../../harness/gateway/proxied_gateway.ts";
import {
  type CollectedSpan,
  isOf,
  type Json,
  type RealCollector,
  spansOf,
  startRealCollector,
} from "../../harness/servers/real_collector.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const PARENT_ID = "b7ad6b7169203331";
const traceparent = `00-${TRACE_ID}-${PARENT_ID}-01`;

const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;

type Protocol = "http" | "grpc";

function settings(collector: RealCollector, protocol: Protocol, name: string) {
  return {
    otlp: {
      endpoint: collector[protocol],
      protocol,
      resourceAttributes: { "service.name": name },
    },
    tracing: {},
  };
}

function kindOf(spans: readonly CollectedSpan[], kind: number) {
  return spans.filter((span) => span.kind === kind);
}

for (const protocol of ["http", "grpc"] as const) {
  Deno.test(`a real collector receives spans, metrics and logs over ${protocol}`, async () => {
    await using collector = await startRealCollector();
    const upstream = serveLoopback(0, () => new Response("hello"));
    {
      await using gateway = await startTestGateway({
        config: {
          ...settings(collector, protocol, "edge"),
          metrics: { otlpInterval: "1h" },
          accessLog: { format: "otlp" },
        },
        routes: [{
          name: "all",
          backends: [{ host: new URL(upstream.origin).host }],
        }],
      });
      const headers = { traceparent };
      await (await fetch(gateway.origin, { headers })).text();
    }
    await upstream.close();
    const received = await collector.stop();

    const spans = spansOf(received, "edge");
    const [server = assert.fail()] = kindOf(spans, SERVER);
    const [client = assert.fail()] = kindOf(spans, CLIENT);
    assert.equal(spans.length, 2);
    assert.equal(server.traceId, TRACE_ID);
    assert.equal(server.parentSpanId, PARENT_ID);
    assert.equal(client.parentSpanId, server.spanId);
    const records = received.flatMap(({ resourceLogs = [] }) => resourceLogs)
      .filter((each) => isOf(each, "edge"))
      .flatMap(({ scopeLogs: [{ logRecords }] }: Json) => logRecords);
    assert.deepEqual(records.map(({ spanId }: Json) => spanId), [
      server.spanId,
    ]);
    const duration = received
      .flatMap(({ resourceMetrics = [] }) => resourceMetrics)
      .filter((each) => isOf(each, "edge"))
      .flatMap(({ scopeMetrics: [{ metrics }] }: Json) => metrics)
      .find(({ name }: Json) => name === "gateway_request_duration_seconds");
    assert.equal(duration.histogram.dataPoints[0].count, "1");
  });

  Deno.test(`spans of a login arrive over ${protocol}, each with its parent`, async () => {
    await using collector = await startRealCollector();
    const secrets: string[] = [];
    {
      await using server = await startProxiedGateway({
        config: settings(collector, protocol, "login"),
      });
      const client = await server.registerClient();
      const code = await server.code(client);
      const { body } = await server.redeem(client, code);
      const opened = await initializeMcp(server.gateway, body.access_token);
      assert.equal(opened.status, 200);
      secrets.push(code, String(body.access_token), String(body.refresh_token));
    }
    const spans = spansOf(await collector.stop(), "login");

    const servers = kindOf(spans, SERVER);
    const steps = servers.map(({ attributes }) =>
      String(attributes["url.path"])
    );
    for (const step of [/\/register$/, /\/authorize$/, /\/callback$/]) {
      assert(steps.some((path) => step.test(path)), `${step} of ${steps}`);
    }
    const roots = new Map(servers.map((span) => [span.spanId, span]));
    for (const span of spans) {
      if (span.kind === SERVER) continue;
      const root = roots.get(span.parentSpanId);
      assert.equal(span.traceId, root?.traceId, span.name);
    }
    const token = servers.find(({ attributes }) =>
      /\/token$/.test(String(attributes["url.path"]))
    );
    assert.equal(token?.attributes["http.response.status_code"], 200);
    const waits = kindOf(spans, INTERNAL).filter(({ parentSpanId }) =>
      parentSpanId === token.spanId
    );
    assert.deepEqual(waits.map(({ name }) => name), [
      "policy jwtAuthentication",
    ]);
    const call = servers.find(({ name }) => name === "initialize");
    assert.equal(call?.attributes["mcp.method.name"], "initialize");
    const text = JSON.stringify(spans);
    for (const secret of secrets) assert(!text.includes(secret));
  });

  Deno.test(`spans of an MCP call with a retry arrive over ${protocol}, and its server is a child of the attempt`, async () => {
    await using collector = await startRealCollector();
    const parents: string[][] = [];
    const upstream = serveLoopback(0, async (request) => {
      const { params } = await request.json();
      const header = request.headers.get("traceparent") ?? "";
      parents.push([header, params._meta.traceparent]);
      return parents.length === 1
        ? new Response("busy", { status: 503 })
        : Response.json({ jsonrpc: "2.0", id: 7, result: {} });
    });
    {
      await using gateway = await startTestGateway({
        config: settings(collector, protocol, "mcp"),
        routes: [{
          name: "mcp",
          backends: [{ host: new URL(upstream.origin).host }],
          retry: { attempts: 1, codes: [503], backoff: "1ms" },
        }],
      });
      await (await fetch(`${gateway.origin}/mcp`, {
        method: "POST",
        headers: {
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
          "mcp-session-id": "session-1",
          "mcp-protocol-version": "2025-11-25",
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 7,
          method: "tools/call",
          params: { name: "search", arguments: {}, _meta: { traceparent } },
        }),
      })).text();
    }
    await upstream.close();
    const spans = spansOf(await collector.stop(), "mcp");

    const [server = assert.fail()] = kindOf(spans, SERVER);
    const attempts = kindOf(spans, CLIENT);
    assert.equal(server.traceId, TRACE_ID);
    assert.equal(server.parentSpanId, PARENT_ID);
    assert.deepEqual(
      attempts.map(({ parentSpanId, attributes }) => [
        parentSpanId,
        attributes["http.response.status_code"],
        attributes["http.request.resend_count"],
      ]),
      [[server.spanId, 503, undefined], [server.spanId, 200, 1]],
    );
    assert.deepEqual(
      parents,
      attempts.map(({ spanId }) =>
        Array(2).fill(`00-${TRACE_ID}-${spanId}-01`)
      ),
    );
    for (const { name, attributes } of spans) {
      assert.equal(name, "tools/call search");
      assert.equal(attributes["mcp.method.name"], "tools/call");
      assert.equal(attributes["mcp.session.id"], "session-1");
      assert.equal(attributes["mcp.protocol.version"], "2025-11-25");
      assert.equal(attributes["gen_ai.operation.name"], "execute_tool");
      assert.equal(attributes["gen_ai.tool.name"], "search");
      assert.equal(attributes["jsonrpc.request.id"], "7");
    }
  });

  Deno.test(`spans of a stream of an LLM arrive over ${protocol}, with model and tokens`, async () => {
    await using collector = await startRealCollector();
    const llm = startLlmServer({ clock: systemClock });
    {
      await using gateway = await startTestGateway({
        config: settings(collector, protocol, "llm"),
        routes: [{
          name: "llm",
          backends: [{ host: new URL(llm.origin).host }],
        }],
      });
      const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", traceparent },
        body: JSON.stringify({
          model: "gpt-4o-mini",
          stream: true,
          stream_options: { include_usage: true },
          messages: [{ role: "user", content: "private words" }],
        }),
      });
      assert.match(await response.text(), /\[DONE\]/);
    }
    await llm.close();
    const spans = spansOf(await collector.stop(), "llm");

    const [server = assert.fail()] = kindOf(spans, SERVER);
    const [client = assert.fail()] = kindOf(spans, CLIENT);
    assert.equal(server.parentSpanId, PARENT_ID);
    assert.equal(client.parentSpanId, server.spanId);
    assert.equal(client.name, "chat gpt-4o-mini");
    for (const { attributes } of [server, client]) {
      assert.equal(attributes["gen_ai.operation.name"], "chat");
      assert.equal(attributes["gen_ai.provider.name"], "openai");
      assert.equal(attributes["gen_ai.request.model"], "gpt-4o-mini");
      assert(Number(attributes["gen_ai.usage.input_tokens"]) > 0);
      assert(Number(attributes["gen_ai.usage.output_tokens"]) > 0);
    }
    assert(!JSON.stringify(spans).includes("private words"));
  });
}
