import assert from "node:assert/strict";
import { startLlmServer } from "../../cli/dev/llm_server.ts";
import { createAuthority } from "../harness/certificates.ts";
import { gatewayCommand } from "../harness/executable.ts";
import { fetchRaw, type RawResponse } from "../harness/fetch_raw.ts";
import { startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { GatewayProcess } from "../harness/gateway_process.ts";
import { KvConnectServer } from "../harness/kv_connect_server.ts";
import {
  type RateLimitServiceOptions,
  startRateLimitService,
} from "../harness/rate_limit_service.ts";
import { answer, RawUpstream } from "../harness/raw_upstream.ts";
import { startReloadableGateway } from "../harness/reloadable_gateway.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A route with a `global` block and an upstream that says OK. */
function limitedRoute(upstream: { readonly port: number }, global: Fields) {
  return {
    name: "api",
    policies: { rateLimit: { global } },
    backends: [{ host: `127.0.0.1:${upstream.port}` }],
  };
}

function byUser(limit: Fields): Fields {
  const entries = [{ key: "user", value: "request.headers['x-user']" }];
  return { unit: "Hours", entries, ...limit };
}

function upstreamThatSaysOk(): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer("ok"));
    }
  });
}

/** A folder for a store, removed at the end. */
class KvFile implements AsyncDisposable {
  readonly #folder = Deno.makeTempDirSync();

  get config() {
    return { kv: { path: `${this.#folder}/limits.db` } };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Deno.remove(this.#folder, { recursive: true });
  }
}

function send(
  { origin }: { readonly origin: string },
  user = "anna",
): Promise<RawResponse> {
  return fetchRaw(origin, { headers: { "x-user": user } });
}

/** Asks an LLM for an answer that uses nine tokens. */
async function chat({ origin }: TestGateway): Promise<Response> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-user": "anna" },
    body: JSON.stringify({
      model: "any",
      messages: [{ role: "user", content: "Hello there" }],
    }),
  });
  await response.text();
  return response;
}

/** Sends requests one after the other; answers how many were admitted. */
async function countAdmitted(
  gateway: { readonly origin: string },
  requests: number,
): Promise<number> {
  let admitted = 0;
  for (let sent = 0; sent < requests; sent++) {
    const { status } = await send(gateway);
    assert(status === 200 || status === 429, `${status}`);
    if (status === 200) admitted++;
  }
  return admitted;
}

function textOf({ bytes }: RawResponse): string {
  return new TextDecoder().decode(bytes);
}

/** `budgets` of `/config_dump`. */
async function budgetsOf(
  { gateway }: Pick<TestGateway, "gateway">,
): Promise<readonly Fields[]> {
  const { budgets } = await gateway.dataPlane.describe();
  return budgets as readonly Fields[];
}

/** A service, and a gateway that asks it; `global` besides `domain`, `store` and `descriptors`. */
async function startServiceAndGateway(
  options: RateLimitServiceOptions = {},
  global: Fields = {},
) {
  const upstream = upstreamThatSaysOk();
  const service = await startRateLimitService(options);
  const gateway = await startTestGateway({
    routes: [limitedRoute(upstream, {
      domain: "fleet",
      store: { service: { host: `127.0.0.1:${service.port}` } },
      descriptors: [byUser({ requests: 9 })],
      ...global,
    })],
  });
  return {
    gateway,
    service,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

Deno.test("gateways on one KV file share the budget of each user", async () => {
  await using upstream = upstreamThatSaysOk();
  await using file = new KvFile();
  const start = () =>
    startTestGateway({
      config: file.config,
      routes: [limitedRoute(upstream, {
        domain: "fleet",
        descriptors: [byUser({ requests: 6 })],
      })],
    });
  await using first = await start();
  await using second = await start();

  const statuses: number[] = [];
  for (let round = 0; round < 4; round++) {
    for (const gateway of [first, second]) {
      statuses.push((await send(gateway)).status);
    }
  }
  const refused = await send(second);
  const other = await send(second, "otto");

  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 429, 429]);
  const { headers } = refused;
  assert.equal(headers["x-ratelimit-limit"], "6");
  assert.equal(headers["x-ratelimit-remaining"], "0");
  assert.equal(headers["x-ext-ratelimited"], "true");
  assert.equal(headers["retry-after"], headers["x-ratelimit-reset"]);
  assert(Number(headers["retry-after"]) > 3500);
  assert.equal(textOf(refused), "rate limit exceeded");
  assert.equal(other.status, 200);
  assert.equal(other.headers["x-ext-ratelimited"], undefined);
});

Deno.test("tokens used at one gateway are gone at the other", async () => {
  const llm = startLlmServer();
  await using _ = { [Symbol.asyncDispose]: () => llm.close() };
  await using file = new KvFile();
  const start = () =>
    startTestGateway({
      config: file.config,
      routes: [limitedRoute({ port: Number(new URL(llm.origin).port) }, {
        domain: "fleet",
        descriptors: [byUser({ tokens: 20 })],
      })],
    });
  await using first = await start();
  await using second = await start();
  // Nine tokens each; what is used is known elsewhere after the next sweep at the latest.
  const statuses = [await chat(first), await chat(first), await chat(first)]
    .map(({ status }) => status);
  let remaining: unknown;
  do {
    const response = await chat(second);
    remaining = response.headers.get("x-ratelimit-remaining");
    statuses.push(response.status);
  } while (statuses.at(-1) !== 429 && statuses.length < 200);

  assert.deepEqual(statuses.slice(0, 3), [200, 200, 200]);
  assert.equal(statuses.at(-1), 429);
  assert.equal(remaining, "0");
  const [budget] = await budgetsOf(second);
  assert.equal(budget?.["entry"], "20 tokens per hour, by user");
});

Deno.test("a reload keeps the leases and what is left", async () => {
  await using upstream = upstreamThatSaysOk();
  await using file = new KvFile();
  const route = limitedRoute(upstream, {
    domain: "fleet",
    descriptors: [byUser({ requests: 1000 })],
  });
  await using gateway = await startReloadableGateway([{
    config: file.config,
    routes: [route],
  }]);
  await Promise.all(Array.from({ length: 64 }, () => send(gateway)));
  await Promise.all(Array.from({ length: 64 }, () => send(gateway)));
  const [before] = await budgetsOf(gateway);

  const isAccepted = await gateway.reload([{
    config: file.config,
    routes: [{ ...route, name: "renamed" }],
  }]);
  const { headers } = await send(gateway);

  assert.equal(isAccepted, true);
  assert.equal(before?.["remaining"], 872);
  assert.equal(headers["x-ratelimit-remaining"], "871");
  const metrics = await gateway.gateway.dataPlane.collectMetrics();
  assert.match(
    metrics,
    /gateway_rate_limit_shared_requests_total\{store="KV",domain="fleet",result="admitted"\} 129\n/,
  );
});

Deno.test("a reload that needs a store which the process was started without is refused", async () => {
  await using upstream = upstreamThatSaysOk();
  await using file = new KvFile();
  const route = limitedRoute(upstream, {
    domain: "fleet",
    descriptors: [byUser({ requests: 1 })],
  });
  const { policies: _, ...plain } = route;
  await using gateway = await startReloadableGateway([{ routes: [plain] }]);

  const isAccepted = await gateway.reload([{
    config: file.config,
    routes: [route],
  }]);

  assert.equal(isAccepted, false);
  assert.match(gateway.log.join(""), /Cannot share limits: .*"config\.kv"/);
  assert.equal((await send(gateway)).status, 200);
});

Deno.test("a gateway that stops gives its leases back", async () => {
  await using upstream = upstreamThatSaysOk();
  await using file = new KvFile();
  const start = () =>
    startTestGateway({
      config: file.config,
      routes: [limitedRoute(upstream, {
        domain: "fleet",
        descriptors: [byUser({ requests: 200 })],
      })],
    });
  await using second = await start();
  {
    await using first = await start();
    for (let round = 0; round < 2; round++) {
      const burst = Array.from({ length: 40 }, () => send(first));
      await Promise.all(burst);
    }
    const [{ leased } = { leased: 0 }] = await budgetsOf(first);
    assert(Number(leased) > 0);
  }

  const admitted = await countAdmitted(second, 130);

  assert.equal(admitted, 120);
});

Deno.test("gateways on a KV Connect server share a budget", async () => {
  Deno.env.set("DENO_KV_ACCESS_TOKEN", KvConnectServer.token);
  await using upstream = upstreamThatSaysOk();
  await using server = new KvConnectServer();
  const start = () =>
    startTestGateway({
      config: { kv: { url: server.url } },
      routes: [limitedRoute(upstream, {
        domain: "fleet",
        descriptors: [byUser({ requests: 10 })],
      })],
    });
  await using first = await start();
  await using second = await start();

  const admitted = [
    await countAdmitted(first, 7),
    await countAdmitted(second, 7),
  ];

  assert.deepEqual(admitted, [7, 3]);
});

for (const failureMode of ["Closed", "Open"]) {
  Deno.test(`while a KV Connect server is down, failure mode ${failureMode} decides`, async () => {
    Deno.env.set("DENO_KV_ACCESS_TOKEN", KvConnectServer.token);
    await using upstream = upstreamThatSaysOk();
    await using server = new KvConnectServer();
    await using gateway = await startTestGateway({
      config: { kv: { url: server.url } },
      routes: [limitedRoute(upstream, {
        domain: "fleet",
        failureMode,
        descriptors: [byUser({ requests: 10 })],
      })],
    });
    await server.stop();

    const down = await send(gateway);
    const [budget] = await budgetsOf(gateway);
    server.start();
    let back = await send(gateway);
    while (back.headers["x-ratelimit-remaining"] === undefined) {
      back = await send(gateway);
    }

    assert.equal(down.status, failureMode === "Open" ? 200 : 503);
    assert.equal(budget?.["state"], "failing");
    assert.notEqual(budget["lastError"], undefined);
    assert.equal(back.status, 200);
    assert.equal(back.headers["x-ratelimit-remaining"], "9");
  });
}

Deno.test("a rate limit service is asked about each request, and its headers go both ways", async () => {
  const heads: string[] = [];
  await using upstream = new RawUpstream(async (connection) => {
    heads.push(await connection.request());
    await connection.send(answer("ok"));
  });
  await using service = await startRateLimitService({
    reply: () => ({
      overall_code: "OK",
      statuses: [{
        code: "OK",
        current_limit: { requests_per_unit: 9, unit: "HOUR" },
        limit_remaining: 4,
        duration_until_reset: { seconds: 60 },
      }],
      response_headers_to_add: [{ key: "x-plan", value: "gold" }],
      request_headers_to_add: [{ key: "x-tier", value: "one" }],
    }),
  });
  await using gateway = await startTestGateway({
    routes: [limitedRoute(upstream, {
      domain: "fleet",
      store: { service: { host: `127.0.0.1:${service.port}` } },
      descriptors: [byUser({ requests: 9 })],
    })],
  });

  const { status, headers } = await send(gateway);

  assert.equal(status, 200);
  assert.equal(headers["x-plan"], "gold");
  assert.equal(headers["x-ratelimit-limit"], "9");
  assert.equal(headers["x-ratelimit-remaining"], "4");
  assert.equal(headers["x-ratelimit-reset"], "60");
  assert.equal(headers["x-ext-ratelimited"], undefined);
  assert.match(heads.join(""), /^x-tier: one\r$/m);
  assert.deepEqual(
    service.received.map(({ domain, descriptors }) => ({
      domain,
      entries: descriptors.flatMap(({ entries }) => entries),
    })),
    [{ domain: "fleet", entries: [{ key: "user", value: "anna" }] }],
  );
});

Deno.test("a rate limit service refuses with headers and a body of its own", async () => {
  await using test = await startServiceAndGateway({
    reply: () => ({
      overall_code: "OVER_LIMIT",
      statuses: [{
        code: "OVER_LIMIT",
        current_limit: { requests_per_unit: 9, unit: "HOUR" },
        duration_until_reset: { seconds: 60 },
      }],
      response_headers_to_add: [{ key: "x-plan", value: "free" }],
      raw_body: new TextEncoder().encode("buy more"),
    }),
  });

  const refused = await send(test.gateway);

  assert.equal(refused.status, 429);
  assert.equal(textOf(refused), "buy more");
  assert.equal(refused.headers["x-ext-ratelimited"], "true");
  assert.equal(refused.headers["x-plan"], "free");
  assert.equal(refused.headers["retry-after"], "60");
  assert.equal(refused.headers["x-ratelimit-limit"], "9");
  assert.equal(refused.headers["x-ratelimit-remaining"], "0");
});

for (const failureMode of ["Closed", "Open"]) {
  Deno.test(`while a rate limit service is down, failure mode ${failureMode} decides`, async () => {
    await using test = await startServiceAndGateway({}, { failureMode });
    const { gateway, service } = test;
    const before = await send(gateway);

    service.stop();
    const down = await send(gateway);
    const [budget] = await budgetsOf(gateway);
    const metrics = await gateway.gateway.dataPlane.collectMetrics();
    const asked = service.received.length;
    await using again = await startRateLimitService({ port: service.port });
    while (again.received.length === 0) await send(gateway);
    const back = await send(gateway);

    assert.equal(before.status, 200);
    assert.equal(asked, 1);
    if (failureMode === "Open") {
      assert.equal(down.status, 200);
    } else {
      assert.equal(down.status, 503);
      assert.equal(down.headers["retry-after"], "1");
      assert.equal(textOf(down), "rate limit failed");
      assert.equal(down.headers["x-ext-ratelimited"], undefined);
    }
    assert.equal(budget?.["scope"], `127.0.0.1:${service.port}/fleet`);
    assert.equal(budget["state"], "failing");
    assert.match(String(budget["lastError"]), /Cannot ask the rate limit/);
    assert.match(
      metrics,
      /shared_requests_total\{[^}]*,result="failed"\} 1\n/,
    );
    assert.match(metrics, /gateway_rate_limit_shared_failing\{[^}]*\} 1\n/);
    assert.equal(back.status, 200);
  });
}

Deno.test("a rate limit service hears of the tokens that an answer used", async () => {
  const llm = startLlmServer();
  await using _ = { [Symbol.asyncDispose]: () => llm.close() };
  await using service = await startRateLimitService();
  await using gateway = await startTestGateway({
    routes: [limitedRoute({ port: Number(new URL(llm.origin).port) }, {
      domain: "fleet",
      store: { service: { host: `127.0.0.1:${service.port}` } },
      descriptors: [byUser({ tokens: 1000 })],
    })],
  });

  const { status } = await chat(gateway);
  // At once after the answer: what is not reported yet must not get lost.
  await gateway.gateway.stop(1000);
  await service.waitFor(2);

  assert.equal(status, 200);
  assert.deepEqual(
    service.received.map(({ descriptors }) => descriptors[0]?.hits_addend),
    [{ value: "0" }, { value: "9" }],
  );
});

Deno.test("a rate limit service behind TLS is verified like any backend", async () => {
  const authority = await createAuthority();
  const tls = await authority.issueServer(["limits.example"]);
  await using upstream = upstreamThatSaysOk();
  await using service = await startRateLimitService({ tls });
  const start = (hostname: string) =>
    startTestGateway({
      backends: [{
        name: "limits",
        static: { host: "127.0.0.1", port: service.port },
        tls: { hostname, caCertificateRefs: [{ inline: authority.cert }] },
      }],
      routes: [limitedRoute(upstream, {
        domain: "fleet",
        store: { service: { backendRef: { name: "limits" } } },
        descriptors: [byUser({ requests: 9 })],
      })],
    });
  await using right = await start("limits.example");
  await using wrong = await start("other.example");

  assert.equal((await send(right)).status, 200);
  assert.equal((await send(wrong)).status, 503);
  assert.equal(service.received.length, 1);
});

Deno.test("gwctl proxy limits shows shared limits", async () => {
  await using upstream = upstreamThatSaysOk();
  await using file = new KvFile();
  await using gateway = await GatewayProcess.start({
    config: {
      config: file.config,
      routes: [limitedRoute(upstream, {
        domain: "fleet",
        descriptors: [byUser({ requests: 30, burst: 10 })],
      })],
    },
  });
  for (const user of ["anna", "otto", "anna"]) await send(gateway, user);

  const admin = new URL(gateway.admin).host;
  const { stdout } = await gatewayCommand({
    args: ["ctl", "proxy", "limits", "--admin", admin],
  }).output();

  const [titles, row] = new TextDecoder().decode(stdout).split("\n")
    .map((line) => line.split(/ {2,}/));
  assert.deepEqual(titles, [
    ...["SCOPE", "LIMIT", "LEFT", "OF", "RESET", "KEYS"],
    ...["LEASED", "PENDING", "STATE"],
  ]);
  assert.deepEqual(row?.slice(0, 4), [
    "KV/fleet",
    "30 requests per hour, burst 10, by user",
    "38",
    "40",
  ]);
  assert.equal(row[5], "2");
  assert.equal(row.at(-1), "ready");
});
