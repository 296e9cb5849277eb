/** Budgets that hold what a request may use until its usage is known. */
import assert from "node:assert/strict";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";
import { budgetsOf } from "../../harness/gateway/limited_gateway.ts";
import { HeldUpstream, until } from "../../harness/servers/held_upstream.ts";
import { RedisServer } from "../../harness/servers/redis_server.ts";

const json = "application/json";
/** Each request reserves 1,000 tokens of output and few of input, of which it uses 30. */
const usage = { prompt_tokens: 20, completion_tokens: 10 };
const answerText = JSON.stringify({ model: "m", choices: [], usage });
const budget = { tokens: 3500, unit: "Months", reserve: true };

interface Ask {
  readonly maxTokens?: number;
  readonly signal?: AbortSignal;
}

async function ask(
  { origin }: TestGateway,
  { maxTokens = 1000, signal }: Ask = {},
): Promise<Response> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const response = await fetch(`${origin}/v1/chat/completions`, {
    client,
    method: "POST",
    headers: { "content-type": json },
    body: JSON.stringify({ model: "m", max_tokens: maxTokens, messages: [] }),
    ...(signal && { signal }),
  });
  return new Response(await response.text(), response);
}

async function remaining({ origin }: TestGateway): Promise<number> {
  const { headers } = await fetchRaw(`${origin}/probe`);
  return Number(headers["x-ratelimit-remaining"]);
}

/** Metrics of the only limit, local or global. */
async function metricsOf({ gateway }: TestGateway) {
  const text = await gateway.dataPlane.call("collectMetrics");
  const read = (name: string, label = "") => {
    const line = new RegExp(
      `^gateway_rate_limit_(?:shared_)?${name}\\{[^}]*${label}[^}]*\\} (\\S+)$`,
      "m",
    );
    return Number(line.exec(text)?.[1]);
  };
  return {
    held: read("held", 'unit="tokens"'),
    refused: read("(?:limit_)?requests_total", 'limit=[^}]*result="refused"'),
    tokens: read("tokens_total", "limit="),
  };
}

function inStore(kv: Readonly<Record<string, unknown>>) {
  const entries = [{ key: "all", value: "'x'" }];
  const descriptors = [{ ...budget, entries }];
  return {
    kv,
    rateLimit: { global: { domain: "d", timeout: "30s", descriptors } },
  };
}

const variants = {
  "one thread": () => ({ rateLimit: { local: [budget] } }),
  "two workers": () => ({ workers: 2, rateLimit: { local: [budget] } }),
  "Deno KV": () => inStore({ path: ":memory:" }),
  "Deno KV and two workers": () => ({
    workers: 2,
    ...inStore({ path: ":memory:" }),
  }),
  "Redis": (redis: string) => inStore({ redis }),
} as const;

for (const [name, create] of Object.entries(variants)) {
  Deno.test(`of ten simultaneous requests, those whose sum fits the budget pass: ${name}`, async () => {
    await using redis = name === "Redis" ? await RedisServer.start() : null;
    const { rateLimit, ...config } = create(redis?.url ?? "");
    await using upstream = await HeldUpstream.start();
    await using gateway = await startTestGateway({
      config,
      routes: [{
        name: "llm",
        policies: { rateLimit },
        backends: upstream.backends,
      }],
    });

    const responses = Array.from({ length: 10 }, () => ask(gateway));
    let rejected = 0;
    for (const each of responses) {
      void each.then(({ status }) => status === 429 && rejected++);
    }
    await until(() => rejected === 7 && upstream.waiting.length === 3);
    const [shown] = await budgetsOf(gateway);
    assert(Number(shown?.["held"]) >= 3000, JSON.stringify(shown));
    assert(await remaining(gateway) <= 500);
    const whileHeld = await metricsOf(gateway);
    assert.equal(whileHeld.held, shown?.["held"]);
    assert.equal(whileHeld.refused, 7);

    upstream.respond(200, answerText);
    const texts = await Promise.all(
      responses.map(async (each) => {
        const response = await each;
        return `${response.status} ${await response.text()}`;
      }),
    );
    assert.equal(texts.filter((text) => text.startsWith("200")).length, 3);
    const rejection = texts.find((text) => text.startsWith("429"));
    assert.match(
      rejection ?? "",
      /rate limit exceeded: the limit has \d+ left, and the request may use 10\d\d/,
    );
    await until(async () => await remaining(gateway) === 3500 - 3 * 30);
    const [after] = await budgetsOf(gateway);
    assert.equal(after?.["held"], 0);
    const { held, refused, tokens } = await metricsOf(gateway);
    assert.deepEqual([held, refused, tokens], [0, 7, 90]);
  });

  Deno.test(`a reservation is refunded when the backend fails or the client leaves: ${name}`, async () => {
    await using redis = name === "Redis" ? await RedisServer.start() : null;
    const { rateLimit, ...config } = create(redis?.url ?? "");
    await using upstream = await HeldUpstream.start();
    await using gateway = await startTestGateway({
      config,
      routes: [{
        name: "llm",
        policies: { rateLimit: { ...rateLimit, onDisconnect: "Estimate" } },
        backends: upstream.backends,
      }],
    });
    assert.equal(await remaining(gateway), 3500);

    const failing = ask(gateway, { maxTokens: 3000 });
    await until(() => upstream.waiting.length === 1);
    assert(await remaining(gateway) < 500);
    upstream.respond(500, "{}");
    assert.equal((await failing).status, 500);
    await until(async () => await remaining(gateway) === 3500);

    const leaving = new AbortController();
    const left = ask(gateway, { maxTokens: 3000, signal: leaving.signal });
    await until(() => upstream.waiting.length === 1);
    leaving.abort();
    await assert.rejects(left);
    // The provider received the request: its input is charged.
    await until(async () => {
      const now = await remaining(gateway);
      return now > 3400 && now < 3500;
    });
  });
}

Deno.test("a request that may use more than the whole budget is told so, and not to come again", async () => {
  await using upstream = await HeldUpstream.start();
  await using gateway = await startTestGateway({
    routes: [{
      name: "llm",
      policies: { rateLimit: { local: [budget] } },
      backends: upstream.backends,
    }],
  });
  const response = await ask(gateway, { maxTokens: 4000 });

  assert.equal(response.status, 429);
  assert.equal(response.headers.get("retry-after"), null);
  assert.equal(response.headers.get("x-should-retry"), "false");
  assert.match(await response.text(), /3500 left.* may use 40\d\d/);
});
