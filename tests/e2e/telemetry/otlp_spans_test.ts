import assert from "node:assert/strict";
import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import { toOpenMetrics } from "../../../src/telemetry/metrics/open_metrics.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { initializeMcp } from "../../harness/clients/initialize_mcp.ts";
import { startProxiedGateway } from "../../harness/gateway/proxied_gateway.ts";
import {
  type OtlpCollector,
  type ReceivedSpan,
  startOtlpCollector,
} from "../../harness/servers/otlp_collector.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const PARENT_ID = "b7ad6b7169203331";
const traceparent = `00-${TRACE_ID}-${PARENT_ID}-01`;

function settings(
  { endpoint, protocol }: OtlpCollector,
  tracing: Readonly<Record<string, unknown>> = {},
) {
  return { otlp: { endpoint, protocol }, tracing };
}

/** Serves on 127.0.0.1. */
function serve(handle: (request: Request) => Response | Promise<Response>) {
  const server = serveLoopback(0, handle);
  return {
    origin: server.origin,
    host: new URL(server.origin).host,
    [Symbol.asyncDispose]: () => server.close(),
  };
}

function spanOf(
  spans: readonly ReceivedSpan[],
  kind: string,
): ReceivedSpan {
  const found = spans.find((span) => span.kind === kind);
  assert(found !== undefined, `no span of kind ${kind}`);
  return found;
}

for (const protocol of ["http", "grpc"] as const) {
  Deno.test(`a request is a server span with a client span, over ${protocol}`, async () => {
    await using collector = await startOtlpCollector(protocol);
    const seen: string[] = [];
    await using upstream = serve((request) => {
      seen.push(request.headers.get("traceparent") ?? "");
      return new Response("hello");
    });
    const { host } = upstream;
    {
      await using gateway = await startTestGateway({
        config: settings(collector),
        routes: [{
          name: "all",
          matches: [{ path: { type: "PathPrefix", value: "/api" } }],
          backends: [{ host }],
        }],
      });
      const response = await fetch(`${gateway.origin}/api/x?secret=1`, {
        headers: { traceparent, tracestate: "vendor=1" },
      });
      await response.text();
    }

    const server = spanOf(collector.spans, "SERVER");
    const client = spanOf(collector.spans, "CLIENT");
    assert.equal(collector.spans.length, 2);
    assert.equal(server.traceId, TRACE_ID);
    assert.equal(server.parentSpanId, PARENT_ID);
    assert.equal(server.state, "vendor=1");
    assert.equal(server.flags, 0x301);
    assert.equal(server.name, "GET /api/*");
    assert.equal(server.status, "UNSET");
    assert(server.endedAt >= client.endedAt);
    const { attributes } = server;
    assert.equal(attributes["http.request.method"], "GET");
    assert.equal(attributes["http.response.status_code"], 200);
    assert.equal(attributes["http.route"], "/api/*");
    assert.equal(attributes["url.path"], "/api/x");
    assert.equal(attributes["url.scheme"], "http");
    assert.equal(attributes["server.address"], "127.0.0.1");
    assert.equal(attributes["client.address"], "127.0.0.1");
    assert.equal(attributes["gateway.route"], "all");
    assert(!JSON.stringify(collector.spans).includes("secret"));
    assert.equal(client.traceId, TRACE_ID);
    assert.equal(client.parentSpanId, server.spanId);
    assert.equal(client.attributes["url.full"], `${upstream.origin}/api/x`);
    assert.equal(client.flags, 0x101);
    assert.deepEqual(seen, [`00-${TRACE_ID}-${client.spanId}-01`]);
    const [{ resource, scope } = assert.fail()] = collector.received;
    assert.equal(resource["service.name"], "gateway");
    assert.equal(scope.name, "gateway");
  });
}

Deno.test("a call of a tool that is retried has a client span for each attempt, in the trace of its _meta", async () => {
  await using collector = await startOtlpCollector("http");
  const seen: string[] = [];
  const bodies: string[] = [];
  await using upstream = serve(async (request) => {
    seen.push(request.headers.get("traceparent") ?? "");
    bodies.push(await request.text());
    return seen.length === 1
      ? new Response("busy", { status: 503 })
      : Response.json({ jsonrpc: "2.0", id: 7, result: {} });
  });
  {
    await using gateway = await startTestGateway({
      config: settings(collector),
      routes: [{
        name: "mcp",
        backends: [{ host: upstream.host }],
        retry: { attempts: 1, codes: [503], backoff: "1ms" },
      }],
    });
    const response = await fetch(`${gateway.origin}/mcp`, {
      method: "POST",
      headers: {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-session-id": "session-1",
        "mcp-protocol-version": "2025-11-25",
      },
      body: callOf(traceparent),
    });
    await response.text();
  }

  const server = spanOf(collector.spans, "SERVER");
  const attempts = collector.spans.filter(({ kind }) => kind === "CLIENT");
  assert.equal(server.traceId, TRACE_ID);
  assert.equal(server.parentSpanId, PARENT_ID);
  assert.equal(server.name, "tools/call search");
  assert.equal(server.attributes["gateway.retries"], 1);
  assert.deepEqual(attempts.map((span) => span.parentSpanId), [
    server.spanId,
    server.spanId,
  ]);
  assert.deepEqual(
    attempts.map(({ status, attributes }) => [
      attributes["http.response.status_code"],
      attributes["http.request.resend_count"],
      status,
    ]),
    [[503, undefined, "ERROR"], [200, 1, "UNSET"]],
  );
  const parents = attempts.map(({ spanId }) => `00-${TRACE_ID}-${spanId}-01`);
  assert.deepEqual(seen, parents);
  assert.deepEqual(bodies, parents.map(callOf));
  for (const { attributes } of [server, ...attempts]) {
    assert.equal(attributes["mcp.method.name"], "tools/call");
    assert.equal(attributes["gen_ai.operation.name"], "execute_tool");
    assert.equal(attributes["gen_ai.tool.name"], "search");
    assert.equal(attributes["mcp.session.id"], "session-1");
    assert.equal(attributes["mcp.protocol.version"], "2025-11-25");
    assert.equal(attributes["jsonrpc.request.id"], "7");
  }
  assert(!JSON.stringify(collector.spans).includes("private words"));
});

/** A call of a tool whose client is `parent`. */
function callOf(parent: string): string {
  return JSON.stringify({
    jsonrpc: "2.0",
    id: 7,
    method: "tools/call",
    params: {
      name: "search",
      arguments: { query: "private words", traceparent },
      _meta: { traceparent: parent, tracestate: "vendor=1" },
    },
  });
}

const OTHER_TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";

const escaped = callOf(traceparent).replace(
  `_meta":{"traceparent":"0`,
  `_meta":{"traceparent":"\\u0030`,
);
const untraced = callOf("").replace('"traceparent":"",', "");

const messages = [
  {
    name:
      "a message names another trace than the header: the message's goes on, and the header's is linked",
    headers: { traceparent: `00-${OTHER_TRACE_ID}-00f067aa0ba902b7-01` },
    body: callOf(traceparent),
    traceId: TRACE_ID,
    links: [{ traceId: OTHER_TRACE_ID, spanId: "00f067aa0ba902b7" }],
    sent: (parent: string) => callOf(parent),
  },
  {
    name: "a message without a trace stays as it is, in that of the header",
    headers: { traceparent },
    body: untraced,
    traceId: TRACE_ID,
    links: [],
    sent: () => untraced,
  },
  {
    name: "a message with a digest stays as it is",
    headers: { "content-digest": "sha-256=:AAAA:" },
    body: callOf(traceparent),
    traceId: TRACE_ID,
    links: [],
    sent: () => callOf(traceparent),
  },
  {
    name: "a traceparent with escapes stays as it is",
    headers: {},
    body: escaped,
    traceId: TRACE_ID,
    links: [],
    sent: () => escaped,
  },
];
for (const { name, headers, body, traceId, links, sent } of messages) {
  Deno.test(name, async () => {
    await using collector = await startOtlpCollector("http");
    const bodies: string[] = [];
    await using upstream = serve(async (request) => {
      bodies.push(await request.text());
      return Response.json({ jsonrpc: "2.0", id: 7, result: {} });
    });
    {
      await using gateway = await startTestGateway({
        config: settings(collector),
        routes: [{ name: "mcp", backends: [{ host: upstream.host }] }],
      });
      const response = await fetch(`${gateway.origin}/mcp`, {
        method: "POST",
        headers: {
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
          ...headers,
        },
        body,
      });
      await response.text();
    }

    const server = spanOf(collector.spans, "SERVER");
    const client = spanOf(collector.spans, "CLIENT");
    assert.equal(server.traceId, traceId);
    assert.equal(server.parentSpanId, PARENT_ID);
    assert.deepEqual(server.links, links);
    assert.equal(server.name, "tools/call search");
    assert.deepEqual(bodies, [sent(`00-${traceId}-${client.spanId}-01`)]);
  });
}

Deno.test("a stream of an LLM is one operation with model and tokens, which ends with its last byte", async () => {
  await using collector = await startOtlpCollector("http");
  const events = [
    { choices: [{ delta: { content: "Hello" } }] },
    {
      model: "gpt-4o-mini-2024-07-18",
      choices: [],
      usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 },
    },
  ];
  await using upstream = serve(async (request) => {
    await request.text();
    const text = [...events.map((event) => JSON.stringify(event)), "[DONE]"]
      .map((data) => `data: ${data}\n\n`).join("");
    return new Response(text, {
      headers: { "content-type": "text/event-stream" },
    });
  });
  {
    await using gateway = await startTestGateway({
      config: settings(collector),
      routes: [{ name: "llm", backends: [{ host: upstream.host }] }],
    });
    const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: "gpt-4o-mini",
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: "user", content: "private words" }],
      }),
    });
    await response.text();
  }

  const server = spanOf(collector.spans, "SERVER");
  const client = spanOf(collector.spans, "CLIENT");
  assert.equal(client.name, "chat gpt-4o-mini");
  assert.equal(client.parentSpanId, server.spanId);
  assert.equal(server.parentSpanId, "");
  assert.equal(client.endedAt, server.endedAt);
  const first = Number(
    client.attributes["gen_ai.response.time_to_first_chunk"],
  );
  assert(first > 0 && first * 1000 <= client.endedAt - server.startedAt);
  for (const { attributes } of [server, client]) {
    assert.equal(attributes["gen_ai.operation.name"], "chat");
    assert.equal(attributes["gen_ai.provider.name"], "openai");
    assert.equal(attributes["gen_ai.request.model"], "gpt-4o-mini");
    assert.equal(
      attributes["gen_ai.response.model"],
      "gpt-4o-mini-2024-07-18",
    );
    assert.equal(attributes["gen_ai.usage.input_tokens"], 12);
    assert.equal(attributes["gen_ai.usage.output_tokens"], 5);
  }
  assert(!JSON.stringify(collector.spans).includes("private words"));
});

Deno.test("a login has spans of its steps, and of what its policies wait for", async () => {
  await using collector = await startOtlpCollector("http");
  const secrets: string[] = [];
  {
    await using server = await startProxiedGateway({
      config: settings(collector),
    });
    const client = await server.registerClient();
    const code = await server.code(client);
    const { body } = await server.redeem(client, code);
    const opened = await initializeMcp(server.gateway, body.access_token);
    assert.equal(opened.status, 200);
    secrets.push(code, String(body.access_token), String(body.refresh_token));
  }

  const { spans } = collector;
  const bySpan = new Map(spans.map((span) => [span.spanId, span]));
  const waits = spans.filter(({ name }) => name === "policy jwtAuthentication");
  const waiting = waits.map(({ parentSpanId }) =>
    bySpan.get(parentSpanId)?.attributes["url.path"]
  );
  assert(waiting.some((path) => /\/token$/.test(String(path))), `${waiting}`);
  const token = spans.find(({ attributes }) =>
    /\/token$/.test(String(attributes["url.path"]))
  );
  assert.equal(token?.attributes["http.response.status_code"], 200);
  assert(
    spans.some(({ name, kind }) => name === "initialize" && kind === "SERVER"),
  );
  const text = JSON.stringify(spans);
  for (const secret of secrets) assert(!text.includes(secret));
});

Deno.test("a failed request is an error with its reason; one of the client is not", async () => {
  await using collector = await startOtlpCollector("http");
  {
    await using gateway = await startTestGateway({
      config: settings(collector),
      routes: [{
        name: "dead",
        matches: [{ path: { type: "PathPrefix", value: "/dead" } }],
        backends: [{ host: "127.0.0.1:1" }],
      }],
    });
    for (const path of ["/dead", "/nowhere"]) {
      await (await fetch(gateway.origin + path)).text();
    }
  }

  const [dead, nowhere] = collector.spans.filter(({ kind }) =>
    kind === "SERVER"
  );
  assert.equal(dead?.status, "ERROR");
  assert.equal(dead.attributes["error.type"], "upstream_connect_failed");
  const attempt = spanOf(collector.spans, "CLIENT");
  assert.equal(attempt.status, "ERROR");
  assert.equal(attempt.attributes["error.type"], "upstream_connect_failed");
  assert.equal(nowhere?.status, "UNSET");
  assert.equal(nowhere.name, "GET");
  assert.equal(nowhere.attributes["gateway.reason"], "route_not_found");
});

Deno.test("the buckets of durations have a sampled trace as their exemplar, in OpenMetrics", async () => {
  await using collector = await startOtlpCollector("http");
  await using gateway = await startTestGateway({
    config: { ...settings(collector), workers: 2 },
    routes: [{ policies: { directResponse: { status: 200 } } }],
  });
  for (const flags of ["01", "00"]) {
    const sent = `00-${TRACE_ID}-${PARENT_ID}-${flags}`;
    const headers = { traceparent: sent, connection: "close" };
    await (await fetch(gateway.origin, { headers })).text();
  }

  const text = toOpenMetrics(
    await gateway.gateway.dataPlane.call("readMetrics"),
  );

  const exemplars = text.match(/^.* # \{.*$/gm) ?? [];
  assert.equal(exemplars.length, 1);
  assert.match(
    exemplars[0] ?? "",
    new RegExp(
      `^gateway_request_duration_seconds_bucket\\{.*le=".*"\\} \\d+ # \\{trace_id="${TRACE_ID}",span_id="[0-9a-f]{16}"\\} [\\d.e-]+$`,
    ),
  );
  assert.match(text, /^# TYPE gateway_requests counter$/m);
  assert.match(text, /^gateway_requests_total\{/m);
  assert(text.endsWith("\n# EOF\n"));
});
