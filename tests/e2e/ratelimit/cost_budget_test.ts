import assert from "node:assert/strict";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { LlmUpstream } from "../../harness/llm/llm_upstream.ts";
import { bytesOf, json } from "../../unit/llm/llm_responses.ts";

/** At 2.5 and 10 USD per million tokens: 0.0125 USD. */
const usage = { prompt_tokens: 1000, completion_tokens: 1000 };

function answerOf(model: string) {
  const choices = [{ index: 0, message: { role: "assistant", content: "Hi" } }];
  return {
    contentType: json,
    body: bytesOf(JSON.stringify({ model, choices, usage })),
  };
}

async function ask(origin: string): Promise<number> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": json },
    body: '{"model":"gpt-4o","messages":[]}',
  });
  await response.body?.cancel();
  return response.status;
}

/** Sends requests until one is rejected; each waits until the one before is charged. */
async function askUntilRejected(origin: string): Promise<number> {
  for (let asked = 0;; asked++) {
    const { headers } = await fetchRaw(`${origin}/probe`);
    const before = headers["x-ratelimit-remaining"];
    if (await ask(origin) === 429) return asked;
    const giveUpAt = Date.now() + 60_000;
    while (Date.now() < giveUpAt) {
      const { headers } = await fetchRaw(`${origin}/probe`);
      if (headers["x-ratelimit-remaining"] !== before) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

const budget = { cost: { usd: 0.03, unit: "Months" }, timeZone: "Asia/Tokyo" };

const variants = {
  "one thread": { rateLimit: { local: [budget] } },
  "two workers": { workers: 2, rateLimit: { local: [budget] } },
  "Deno KV": {
    kv: { path: ":memory:" },
    rateLimit: {
      global: {
        domain: "llm",
        descriptors: [{ ...budget, entries: [{ key: "all", value: "'x'" }] }],
      },
    },
  },
} as const;

for (const [name, { rateLimit, ...config }] of Object.entries(variants)) {
  Deno.test(`a budget in money admits requests while something is left, with ${name}`, async () => {
    await using upstream = await LlmUpstream.start(() =>
      answerOf("gpt-4o-2024-08-06")
    );
    await using gateway = await startTestGateway({
      config,
      routes: [{
        name: "llm",
        backends: upstream.backends,
        policies: { rateLimit },
      }],
    });

    assert.equal(await askUntilRejected(gateway.origin), 3);

    const { headers } = await fetchRaw(`${gateway.origin}/probe`);
    assert.equal(headers["x-ratelimit-limit"], "0.03");
    assert.equal(headers["x-ratelimit-remaining"], "0");
    const { budgets } = await gateway.gateway.dataPlane.call("describe");
    assert.match(
      budgets[0]?.entry ?? "",
      /^0\.03 USD per month of Asia\/Tokyo/,
    );
    assert.equal(budgets[0]?.limit, 0.03);
    assert.equal(budgets[0]?.remaining, 0);
    assert.match(gateway.accessLog.join(""), / llm\.cost_usd=0\.0125 /);
    const metrics = await gateway.gateway.dataPlane.call("collectMetrics");
    assert.match(
      metrics,
      /^gateway_llm_cost_usd_total\{.*model="gpt-4o-2024-08-06"\} 0\.0375\d*$/m,
    );
  });
}

Deno.test("a model without a price is charged the configured one, and log and metrics name it", async () => {
  await using upstream = await LlmUpstream.start(() => answerOf("my-model"));
  await using gateway = await startTestGateway({
    config: {
      prices: {
        models: [{ model: "other", input: 1, output: 1 }],
        unknownModel: { input: 15, output: 10 },
      },
    },
    routes: [{
      name: "llm",
      backends: upstream.backends,
      policies: { rateLimit: { local: [budget] } },
    }],
  });

  assert.equal(await askUntilRejected(gateway.origin), 2);

  assert.match(gateway.log.join(""), /A model has no price.*my-model/);
  assert.doesNotMatch(gateway.accessLog.join(""), /llm\.cost_usd/);
  const metrics = await gateway.gateway.dataPlane.call("collectMetrics");
  assert.match(
    metrics,
    /^gateway_llm_unpriced_answers_total\{.*model="my-model"\} 2$/m,
  );
  assert.match(metrics, /^gateway_rate_limit_cost_usd_total\{.*\} 0\.05$/m);
});

Deno.test("headers of the IETF draft have money in millionths of a dollar", async () => {
  await using upstream = await LlmUpstream.start(() => answerOf("gpt-4o"));
  await using gateway = await startTestGateway({
    routes: [{
      name: "llm",
      backends: upstream.backends,
      policies: { rateLimit: { local: [budget], headers: "Standard" } },
    }],
  });
  const { headers } = await fetchRaw(`${gateway.origin}/probe`);
  assert.equal(
    headers["ratelimit-policy"],
    '"30000-microusd-per-2592000s";q=30000;w=2592000',
  );
});
