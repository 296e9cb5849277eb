/** `GET /traffic` and `GET /requests`: what a gateway with some workers remembers of its traffic. */
import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { LlmUpstream } from "../../harness/llm/llm_upstream.ts";
import type {
  LoggedRequest,
  RequestPage,
  RequestReport,
} from "../../../src/telemetry/requests/logged_request.ts";
import type { TrafficReport } from "../../../src/telemetry/traffic/traffic_report.ts";
import { bytesOf, events, sse } from "../../unit/llm/llm_responses.ts";

const stream = events(
  {
    type: "message_start",
    message: { model: "claude-sonnet-4-5", usage: { input_tokens: 70 } },
  },
  { type: "content_block_delta", delta: { text: "Hi" } },
  { type: "message_delta", usage: { output_tokens: 9 } },
);

function configOf(upstream: LlmUpstream, config: object) {
  return {
    config,
    routes: [
      {
        name: "hello",
        matches: [{ path: { type: "PathPrefix", value: "/hello" } }],
        policies: { directResponse: { status: 200, body: "Hello" } },
      },
      {
        name: "broken",
        matches: [{ path: { type: "PathPrefix", value: "/broken" } }],
        policies: { directResponse: { status: 503, body: "Sorry" } },
      },
      {
        name: "llm",
        matches: [{ path: { type: "PathPrefix", value: "/v1" } }],
        backends: upstream.backends,
        policies: {
          apiKeyAuthentication: {
            keys: [{ key: "key-of-blue", metadata: { team: "blue" } }],
          },
        },
      },
    ],
  };
}

function startProvider(): Promise<LlmUpstream> {
  return LlmUpstream.start(() => ({ contentType: sse, body: bytesOf(stream) }));
}

async function read<T>({ admin }: GatewayProcess, path: string): Promise<T> {
  const response = await fetch(admin + path);
  assert.equal(response.status, 200, path);
  return await response.json();
}

/** Requests a path, each time on another connection, so that all workers get some. */
async function get(
  { origin }: GatewayProcess,
  path: string,
  init: RequestInit = {},
): Promise<void> {
  const headers = new Headers(init.headers);
  headers.set("connection", "close");
  await (await fetch(origin + path, { ...init, headers })).text();
}

function chat(gateway: GatewayProcess): Promise<void> {
  return get(gateway, "/v1/messages?beta=true", {
    method: "POST",
    headers: {
      authorization: "Bearer key-of-blue",
      "content-type": "application/json",
    },
    body: '{"model":"claude-sonnet-4-5","stream":true,"messages":[]}',
  });
}

/** Reads the log until it has so many requests. */
async function requestsOf(
  gateway: GatewayProcess,
  count: number,
  query = "",
): Promise<RequestPage> {
  for (let attempt = 0;; attempt++) {
    const page = await read<RequestPage>(gateway, `/requests?${query}`);
    // A request is recorded a moment after its last byte.
    if (page.requests.length >= count || attempt === 2000) return page;
  }
}

for (const workers of [1, 2]) {
  Deno.test(`a gateway with ${workers} worker(s) sums up its traffic`, async () => {
    await using upstream = await startProvider();
    await using gateway = await GatewayProcess.start({
      config: configOf(upstream, { workers }),
    });
    for (let i = 0; i < 12; i++) await get(gateway, "/hello");
    for (let i = 0; i < 4; i++) await get(gateway, "/broken");
    await get(gateway, "/nothing");
    await chat(gateway);
    await requestsOf(gateway, 18);

    const { figures, rows, times, series } = await read<TrafficReport>(
      gateway,
      "/traffic",
    );
    assert.deepEqual(
      rows.map(({ name, requests }) => [name, requests]),
      [["hello", 12], ["broken", 4], ["", 1], ["llm", 1]],
    );
    assert.equal(figures.requests, 18);
    assert.equal(figures.clientErrors, 1);
    assert.equal(figures.serverErrors, 4);
    assert.equal(figures.inputTokens, 70);
    assert((figures.firstToken50 ?? 0) > 0);
    assert((figures.p99 ?? 0) >= (figures.p50 ?? Infinity));
    assert.equal(times.length, series.requests.length);
    const { rows: keys } = await read<TrafficReport>(
      gateway,
      "/traffic?by=key",
    );
    assert.deepEqual(keys.map(({ name }) => name), ["team=blue"]);
    const query = "/traffic?range=1h&by=model&name=claude-sonnet-4-5";
    const one = await read<TrafficReport>(gateway, query);
    assert.equal(one.figures.requests, 1);
    assert.equal(one.figures.outputTokens, 9);
    assert(one.figures.costUsd > 0);
  });

  Deno.test(`a gateway with ${workers} worker(s) logs requests, and explains each`, async () => {
    await using upstream = await startProvider();
    await using gateway = await GatewayProcess.start({
      config: configOf(upstream, { workers }),
    });
    await chat(gateway);
    for (let i = 0; i < 6; i++) await get(gateway, `/hello/${i}`);
    await get(gateway, "/broken?token=t0p-secret");

    const { requests, takenAt, successes, sampled } = await requestsOf(
      gateway,
      8,
    );
    assert.equal(requests.length, 8);
    assert.equal(new Set(requests.map(({ record }) => record)).size, 8);
    assert.deepEqual([successes, sampled], [7, 7]);
    assert.doesNotMatch(JSON.stringify(requests), /t0p-secret|key-of-blue/);
    const reportOf = ({ record }: LoggedRequest) =>
      read<RequestReport>(gateway, `/requests/${record}`);

    const selected = async (query: string) => {
      const page = await read<RequestPage>(gateway, `/requests?${query}`);
      return page.requests.map(({ path }) => path);
    };
    assert.deepEqual(await selected("status=failed"), ["/broken"]);
    assert.deepEqual(await selected("status=5xx"), ["/broken"]);
    assert.deepEqual(await selected("model=SONNET"), ["/v1/messages"]);
    assert.deepEqual(await selected("key=blue&route=llm"), ["/v1/messages"]);
    assert.deepEqual(await selected("text=hello/3"), ["/hello/3"]);
    assert.equal((await selected("status=succeeded&limit=3")).length, 3);
    assert.deepEqual(await selected(`since=${takenAt + 60_000}`), []);

    const [failed] = (await requestsOf(gateway, 1, "status=failed")).requests;
    assert(failed !== undefined);
    const explained = await reportOf(failed);
    assert.match(explained.cause ?? "", /503/);
    assert.notEqual(explained.advice, null);
    assert.match(JSON.stringify(explained.events), /token=<redacted>/);
    assert.doesNotMatch(JSON.stringify(explained), /t0p-secret/);

    const [llm] = (await requestsOf(gateway, 1, "route=llm")).requests;
    assert(llm !== undefined);
    const succeeded = await reportOf(llm);
    assert.equal(succeeded.cause, null);
    assert.equal(succeeded.model, "claude-sonnet-4-5");
    assert.equal(succeeded.key, "team=blue");
    assert.equal(succeeded.calls[0]?.status, 200);
    assert((succeeded.firstTokenMs ?? Infinity) <= (succeeded.durationMs ?? 0));
    assert.match(JSON.stringify(succeeded.events), /backendCallResult/);
    assert.doesNotMatch(JSON.stringify(succeeded), /key-of-blue/);
  });
}

Deno.test("a scanner displaces neither the failures of routes nor the successes", async () => {
  await using upstream = await startProvider();
  await using gateway = await GatewayProcess.start({
    config: configOf(upstream, {
      workers: 1,
      failureMemory: { size: 10 },
      requestMemory: { size: 5 },
    }),
  });
  for (let i = 0; i < 3; i++) await get(gateway, `/broken/${i}`);
  for (let i = 0; i < 8; i++) await get(gateway, `/hello/${i}`);
  for (let i = 0; i < 50; i++) await get(gateway, `/scan/${i}`);

  const { requests } = await requestsOf(gateway, 15);
  const counts = Map.groupBy(requests, ({ path }) => path.split("/")[1]);
  assert.deepEqual(
    Array.from(counts, ([name, all]) => `${name} ${all.length}`).sort(),
    ["broken 3", "hello 5", "scan 7"],
  );
});

Deno.test("without the memory for requests, failures alone are logged", async () => {
  await using upstream = await startProvider();
  await using gateway = await GatewayProcess.start({
    config: configOf(upstream, { requestMemory: { enabled: false } }),
  });
  await get(gateway, "/hello");
  await get(gateway, "/nothing");

  const { requests, sampled } = await requestsOf(gateway, 1);
  const missing = await fetch(`${gateway.admin}/requests/0-s1`);

  assert.deepEqual(requests.map(({ path }) => path), ["/nothing"]);
  assert.equal(sampled, 0);
  assert.equal(missing.status, 404);
  assert.match(await missing.text(), /no longer recorded/);
});
