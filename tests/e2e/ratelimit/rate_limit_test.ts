import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { replaceFile } from "../../harness/gateway/file_gateway.ts";
import { fetchRaw, type RawResponse } from "../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";

/** An upstream that has limits of its own and counts what reaches it. */
class CountingUpstream implements AsyncDisposable {
  requests = 0;
  readonly #upstream = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      this.requests++;
      const field = "X-RateLimit-Remaining: 123456";
      await connection.send(answer("ok", field));
    }
  });

  get backends() {
    return [{ host: `127.0.0.1:${this.#upstream.port}` }];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#upstream[Symbol.asyncDispose]();
  }
}

function limited(...local: readonly unknown[]) {
  return { rateLimit: { local } };
}

function limitsOf({ headers }: RawResponse): string {
  return ["limit", "remaining"].map((name) => headers[`x-ratelimit-${name}`])
    .join("/");
}

function textOf({ bytes }: RawResponse): string {
  return new TextDecoder().decode(bytes);
}

/** Bare statuses, each with how often it came. */
function countStatuses(responses: readonly RawResponse[]) {
  const counts: Record<number, number> = {};
  for (const { status } of responses) {
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

Deno.test("of many requests at once exactly as many pass as the limit has, and the rest is not forwarded", async () => {
  await using upstream = new CountingUpstream();
  await using gateway = await GatewayProcess.start({
    config: {
      routes: [{
        name: "llm",
        policies: limited({ requests: 30, burst: 10, unit: "Hours" }),
        backends: upstream.backends,
      }],
    },
  });

  const responses = await Promise.all(
    Array.from({ length: 200 }, () => fetchRaw(gateway.origin)),
  );

  assert.deepEqual(countStatuses(responses), { 200: 40, 429: 160 });
  assert.equal(upstream.requests, 40);
  const refused = responses.find(({ status }) => status === 429);
  assert(refused !== undefined);
  assert.equal(textOf(refused), "rate limit exceeded");
  assert.equal(refused.headers["content-type"], "text/plain");
  assert.equal(limitsOf(refused), "40/0");
  const reset = Number(refused.headers["x-ratelimit-reset"]);
  assert.ok(reset > 3500 && reset <= 3600);
  assert.equal(refused.headers["retry-after"], String(reset));
  assert.equal(refused.headers["x-ext-ratelimited"], undefined);

  const metrics = await (await fetch(`${gateway.stats}/metrics`)).text();
  const labels =
    'scope="HTTPRoute/default/llm",limit="30 requests per hour, burst 10"';
  assert.ok(
    metrics.includes(
      `gateway_rate_limit_requests_total{${labels},result="admitted"} 40\n`,
    ),
  );
  assert.ok(
    metrics.includes(
      `gateway_rate_limit_requests_total{${labels},result="refused"} 160\n`,
    ),
  );
  assert.match(
    metrics,
    /gateway_requests_total\{.*status="429",reason="rate_limit"\} 160\n/,
  );
  await gateway.accessLog.next(
    /http.status=429 .*reason=rate_limit error="Limit \\"30 requests per hour, burst 10\\" of HTTPRoute\/default\/llm is used up"/,
  );
});

Deno.test("gwctl proxy limits shows what is left", async () => {
  await using upstream = new CountingUpstream();
  await using gateway = await GatewayProcess.start({
    config: {
      routes: [{
        name: "llm",
        policies: limited(
          { requests: 30, unit: "Hours" },
          { tokens: 500, unit: "Minutes", key: "request.headers['x-user']" },
        ),
        backends: upstream.backends,
      }],
    },
  });
  for (const user of ["anna", "otto", "anna"]) {
    await fetchRaw(gateway.origin, { headers: { "x-user": user } });
  }
  const show = async (...args: string[]) => {
    const admin = new URL(gateway.admin).host;
    const { stdout } = await gatewayCommand({
      args: ["ctl", "proxy", "limits", "--admin", admin, ...args],
    }).output();
    return new TextDecoder().decode(stdout);
  };

  const table = (await show()).split("\n").map((line) => line.split(/ {2,}/));
  assert.deepEqual(table[0]?.slice(0, 5), [
    "SCOPE",
    "LIMIT",
    "LEFT",
    "OF",
    "RESET",
  ]);
  assert.deepEqual(table[1]?.slice(0, 4), [
    "HTTPRoute/default/llm",
    "30 requests per hour",
    "27",
    "30",
  ]);
  const [, keyed] = JSON.parse(await show("-o", "json"));
  assert.equal(keyed.keys, 2);
  assert.equal(keyed.remaining, 500);
  assert.match(await show("-o", "yaml"), /entry: 30 requests per hour/);
});

Deno.test("limits of gateway and route both apply, and the numbers of the upstream are replaced", async () => {
  await using upstream = new CountingUpstream();
  const { backends } = upstream;
  await using gateway = await startTestGateway({
    policies: [{
      name: "all",
      targetRefs: [{ kind: "Gateway", name: "default" }],
      traffic: limited({ requests: 4, unit: "Hours" }),
    }],
    routes: [
      {
        name: "a",
        matches: [{ path: { type: "PathPrefix", value: "/a" } }],
        policies: limited({ requests: 2, unit: "Hours" }),
        backends,
      },
      {
        name: "b",
        matches: [{ path: { type: "PathPrefix", value: "/b" } }],
        backends,
      },
    ],
  });
  const send = async (path: string) => {
    const response = await fetchRaw(`${gateway.origin}${path}`);
    return `${response.status} ${limitsOf(response)}`;
  };

  assert.equal(await send("/a"), "200 2/1");
  assert.equal(await send("/a"), "200 2/0");
  assert.equal(await send("/a"), "429 2/0");
  assert.equal(await send("/b"), "200 4/1");
  assert.equal(await send("/b"), "200 4/0");
  assert.equal(await send("/b"), "429 4/0");
  assert.equal(upstream.requests, 4);
});

Deno.test("pages of other origins can read a 429, their preflight is free, and responses of the gateway have the numbers", async () => {
  const origin = "https://app.example.com";
  await using gateway = await startTestGateway({
    routes: [{
      policies: {
        ...limited({ requests: 1, unit: "Hours" }),
        cors: { allowOrigins: [origin] },
        requestRedirect: {
          statusCode: 302,
          path: { type: "ReplaceFullPath", replaceFullPath: "/" },
        },
      },
    }],
  });
  const send = async (init: RequestInit) => {
    const response = await fetch(gateway.origin, {
      redirect: "manual",
      ...init,
    });
    await response.body?.cancel();
    return [
      response.status,
      response.headers.get("access-control-allow-origin"),
      response.headers.get("x-ratelimit-remaining"),
      response.headers.get("access-control-expose-headers"),
    ];
  };
  const numbers = "x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset";
  const preflight = {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "GET" },
  };

  for (let i = 0; i < 3; i++) {
    assert.deepEqual(await send(preflight), [204, origin, null, null]);
  }
  assert.deepEqual(await send({ headers: { origin } }), [
    302,
    origin,
    "0",
    numbers,
  ]);
  assert.deepEqual(await send({ headers: { origin } }), [
    429,
    origin,
    "0",
    `${numbers}, retry-after`,
  ]);
});

Deno.test("an error of the upstream has the numbers too, and counts", async () => {
  await using gateway = await startTestGateway({
    routes: [{
      policies: limited({ requests: 2, unit: "Hours" }),
      backends: [{ host: "127.0.0.1:1" }],
    }],
  });

  const first = await fetchRaw(gateway.origin);
  await fetchRaw(gateway.origin);
  const third = await fetchRaw(gateway.origin);

  assert.equal(`${first.status} ${limitsOf(first)}`, "503 2/1");
  assert.equal(third.status, 429);
});

Deno.test("a reload keeps what was used of budgets, also when it changes their numbers", async () => {
  await using upstream = new CountingUpstream();
  const config = (requests: number, extra: readonly unknown[] = []) => ({
    routes: [{
      name: "llm",
      policies: limited({ requests, unit: "Hours" }),
      backends: upstream.backends,
    }, ...extra],
  });
  await using gateway = await GatewayProcess.start({ config: config(2) });
  const reload = async (next: Readonly<Record<string, unknown>>) => {
    const text = JSON.parse(await Deno.readTextFile(gateway.file));
    await replaceFile(gateway.file, { ...text, ...next });
    await gateway.log.next(/Configuration applied/);
  };
  await fetchRaw(gateway.origin);

  const other = {
    name: "other",
    matches: [{ path: { type: "Exact", value: "/other" } }],
    backends: upstream.backends,
  };
  await reload(config(2, [other]));
  assert.equal(limitsOf(await fetchRaw(gateway.origin)), "2/0");
  assert.equal((await fetchRaw(gateway.origin)).status, 429);

  await reload(config(5));
  assert.equal(limitsOf(await fetchRaw(gateway.origin)), "5/2");
});

Deno.test("tokens of LLM answers use up the budget of the user who asked", async () => {
  const usage = { prompt_tokens: 30, completion_tokens: 40, total_tokens: 70 };
  const completion = JSON.stringify({
    id: "c1",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "Hi" } }],
    usage,
  });
  await using upstream = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      const type = "content-type: application/json";
      await connection.send(answer(completion, type));
    }
  });
  await using gateway = await startTestGateway({
    routes: [{
      policies: limited({
        tokens: 100,
        unit: "Hours",
        key: "request.headers['x-user']",
      }),
      backends: [{ host: `127.0.0.1:${upstream.port}` }],
    }],
  });
  const ask = async (user: string) => {
    const response = await fetchRaw(`${gateway.origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "x-user": user, "content-type": "application/json" },
      body: JSON.stringify({ model: "m", messages: [] }),
    });
    if (response.status === 200) assert.equal(textOf(response), completion);
    return `${response.status} ${limitsOf(response)}`;
  };

  assert.equal(await ask("anna"), "200 100/100");
  assert.equal(await ask("anna"), "200 100/30");
  assert.equal(await ask("anna"), "429 100/0");
  assert.equal(await ask("otto"), "200 100/100");
});
