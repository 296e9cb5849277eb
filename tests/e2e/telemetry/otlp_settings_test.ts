import assert from "node:assert/strict";
import { textSource, validateConfiguration } from "../../../mod.ts";
import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { startOtlpCollector } from "../../harness/servers/otlp_collector.ts";

type Settings = Readonly<Record<string, unknown>>;

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const PARENT_ID = "b7ad6b7169203331";

/** Runs `use` with a gateway whose upstream records what it gets, and returns everything that was exported. */
async function run(
  config: Settings,
  use: (origin: string) => Promise<void>,
) {
  const collector = await startOtlpCollector("http");
  const upstreamHeaders: Headers[] = [];
  const upstream = serveLoopback(0, (request) => {
    upstreamHeaders.push(request.headers);
    return new Response("hello");
  });
  const gateway = await startTestGateway({
    config: { otlp: { endpoint: collector.endpoint }, ...config },
    routes: [{
      name: "all",
      backends: [{ host: new URL(upstream.origin).host }],
    }],
  });
  await use(gateway.origin);
  await gateway[Symbol.asyncDispose]();
  await upstream.close();
  await collector[Symbol.asyncDispose]();
  return { ...collector, upstreamHeaders, accessLog: gateway.accessLog };
}

async function get(url: string, headers: HeadersInit = {}): Promise<void> {
  await (await fetch(url, { headers })).text();
}

function parentWith(flags: string): HeadersInit {
  return { traceparent: `00-${TRACE_ID}-${PARENT_ID}-${flags}` };
}

Deno.test("a request that is not sampled still passes its trace on, as not sampled", async () => {
  const { spans, upstreamHeaders } = await run(
    { tracing: { randomSampling: 0 } },
    async (origin) => {
      await get(origin);
      await get(origin, parentWith("00"));
    },
  );

  assert.deepEqual(spans, []);
  const [own, continued] = upstreamHeaders.map((headers) =>
    headers.get("traceparent")
  );
  assert.match(own ?? "", /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  assert.match(continued ?? "", new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-00$`));
  assert(!continued?.includes(PARENT_ID));
});

Deno.test("sampling by the gateway and by clients are apart", async () => {
  const { spans } = await run(
    {
      tracing: {
        randomSampling: "request.path == '/traced' ? 1.0 : 0.0",
        clientSampling: "request.headers['x-debug'] == 'yes'",
      },
    },
    async (origin) => {
      await get(`${origin}/traced`);
      await get(`${origin}/other`);
      await get(`${origin}/client`, parentWith("01"));
      const debug = { "x-debug": "yes" };
      await get(`${origin}/debug`, { ...parentWith("01"), ...debug });
      await get(`${origin}/unsampled`, { ...parentWith("00"), ...debug });
    },
  );

  const paths = spans.filter(({ kind }) => kind === "SERVER")
    .map(({ attributes }) => attributes["url.path"]);
  assert.deepEqual(paths, ["/traced", "/debug"]);
});

Deno.test("an invalid traceparent starts a new trace, without the tracestate", async () => {
  const { spans, upstreamHeaders } = await run(
    { tracing: {} },
    (origin) =>
      get(origin, { traceparent: "00-nothing-01", tracestate: "vendor=1" }),
  );

  const server = spans.find(({ kind }) => kind === "SERVER");
  assert.equal(server?.parentSpanId, "");
  assert.equal(server.state, "");
  assert.equal(upstreamHeaders[0]?.has("tracestate"), false);
  assert.match(
    upstreamHeaders[0].get("traceparent") ?? "",
    new RegExp(`^00-${server.traceId}-`),
  );
});

Deno.test("without tracing, trace headers pass through", async () => {
  const { received, upstreamHeaders } = await run(
    {},
    (origin) => get(origin, { ...parentWith("01"), tracestate: "???" }),
  );

  assert.deepEqual(received, []);
  const [headers] = upstreamHeaders;
  assert.equal(headers?.get("traceparent"), `00-${TRACE_ID}-${PARENT_ID}-01`);
  assert.equal(headers.get("tracestate"), "???");
});

Deno.test("attributes of the configuration are those of the request; one without a value is left out", async () => {
  const { spans } = await run(
    {
      tracing: {
        attributes: {
          "app.team": "request.headers['x-team']",
          "app.status": "response.code",
          "app.user": "jwt.sub",
          "app.list": "[1, 2]",
        },
      },
    },
    (origin) => get(origin, { "x-team": "blue" }),
  );

  const server = spans.find(({ kind }) => kind === "SERVER");
  assert.equal(server?.attributes["app.team"], "blue");
  assert.equal(server.attributes["app.status"], 200);
  assert.equal(server.attributes["app.list"], "[1,2]");
  assert.equal("app.user" in server.attributes, false);
});

Deno.test("the access log goes to the collector, with the trace of each request", async () => {
  const { logs, spans, accessLog } = await run(
    {
      tracing: {},
      accessLog: {
        format: "otlp",
        filter: "response.code == 200 && request.path != '/health'",
        add: { team: "request.headers['x-team']" },
        remove: ["src.addr"],
      },
    },
    async (origin) => {
      await get(`${origin}/x`, { "x-team": "blue" });
      await get(`${origin}/health`);
    },
  );

  const [log, ...others] = logs;
  assert.deepEqual(others, []);
  assert.equal(log?.body, "GET /x 200");
  assert.equal(log.severity, "INFO");
  assert.equal(log.attributes["http.status"], 200);
  assert.equal(log.attributes["team"], "blue");
  assert.equal(log.attributes["reason"], "upstream");
  assert.equal("src.addr" in log.attributes, false);
  const server = spans.find(({ kind }) => kind === "SERVER");
  assert.equal(log.traceId, server?.traceId);
  assert.equal(log.spanId, server?.spanId);
  assert.deepEqual(accessLog, []);
});

Deno.test("lines of the access log have the same filter and fields, and the IDs of the trace", async () => {
  const { accessLog, spans } = await run(
    {
      tracing: {},
      accessLog: {
        format: "json",
        filter: "request.path != '/health'",
        add: { team: "request.headers['x-team']", "http.host": "'hidden'" },
        remove: ["src.addr"],
      },
    },
    async (origin) => {
      await get(`${origin}/x`, { "x-team": 'a"b' });
      await get(`${origin}/health`);
    },
  );

  const [line = "", ...others] = accessLog;
  assert.deepEqual(others, []);
  const fields = JSON.parse(line);
  assert.equal(fields.team, 'a"b');
  assert.equal(fields["http.host"], "hidden");
  assert.equal("src.addr" in fields, false);
  const server = spans.find(({ kind }) => kind === "SERVER");
  assert.equal(fields["trace.id"], server?.traceId);
  assert.equal(fields["span.id"], server?.spanId);
});

Deno.test("metrics go to the collector at intervals and at the end", async () => {
  const { received } = await run(
    { metrics: { otlpInterval: "1h" } },
    (origin) => get(origin),
  );

  const [last, ...others] = received;
  assert.deepEqual(others, []);
  assert.equal(last?.signal, "metrics");
  const requests = last.metrics.find(({ name }) =>
    name === "gateway_requests_total"
  );
  assert.equal(requests.sum.data_points[0].as_double, 1);
});

for (
  const [name, config, expected] of [
    ["tracing without a collector", { tracing: {} }, /tracing: needs "otlp"/],
    [
      "an unknown variable",
      { tracing: { randomSampling: "requst.path == ''" } },
      /config\.tracing\.randomSampling: .*unknown variable "requst"/,
    ],
    [
      "a variable that comes later",
      { tracing: { clientSampling: "jwt.sub == 'a'" } },
      /clientSampling: Cannot use "jwt" here, before all policies/,
    ],
    [
      "a filter that is no condition",
      { accessLog: { filter: "1 + 1" } },
      /accessLog\.filter: .*expected a boolean, got a number/,
    ],
    [
      "a field that reads a body",
      { accessLog: { add: { body: "response.body" } } },
      /accessLog\.add\.body: Cannot use "response\.body" here/,
    ],
    ["a chance above 1", { tracing: { randomSampling: 2 } }, /from 0 to 1/],
    [
      "a file that does not exist",
      { otlp: { endpoint: "https://c", caFile: "/nonexistent/ca.pem" } },
      /config\.otlp\.caFile: Cannot read the file/,
    ],
    [
      "credentials in the URL",
      { otlp: { endpoint: "https://user:secret@c" } },
      /cannot have user, query or fragment/,
    ],
  ] as const
) {
  Deno.test(`${name} is an error of the configuration`, async () => {
    const needsCollector = !("otlp" in config) &&
      name !== "tracing without a collector";
    const otlp = { endpoint: "http://127.0.0.1:4318" };
    const text = JSON.stringify({
      config: { ...(needsCollector && { otlp }), ...config },
      gateways: { default: { port: 3000 } },
    });

    const { diagnostics } = await validateConfiguration(textSource(text), {});

    const found = diagnostics.map(({ path, message }) => `${path}: ${message}`);
    assert.match(found.join("\n"), expected);
    assert(!found.join().includes("secret"));
  });
}
