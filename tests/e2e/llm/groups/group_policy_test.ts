import assert from "node:assert/strict";
import { answerChat } from "../../../harness/llm/chat_answers.ts";
import { chat, startModelGroup } from "../../../harness/llm/model_group.ts";
import {
  type ProviderRequestSeen,
  startProvider,
} from "../../../harness/llm/provider_server.ts";
import { eventsOf } from "../../../harness/gateway/traced_gateway.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

/** A provider that takes a time of the clock for each response. */
function slowProvider(clock: FakeClock, ms: number) {
  return startProvider((request) => {
    clock.advance(ms);
    return answerChat(request);
  });
}

for (const stream of [false, true]) {
  Deno.test(`LeastLatency prefers the provider that responds sooner, streaming: ${stream}`, async () => {
    const clock = new FakeClock();
    await using slow = slowProvider(clock, 900);
    await using fast = slowProvider(clock, 100);
    await using gateway = await startModelGroup([[slow], [fast]], {
      clock,
      loadBalancing: { policy: "LeastLatency" },
    });

    for (let i = 0; i < 10; i++) {
      await (await chat(gateway, { stream })).text();
    }

    assert.deepEqual([slow.requests.length, fast.requests.length], [1, 9]);
  });
}

Deno.test("LeastLatency measures a slow provider again after a while", async () => {
  const clock = new FakeClock();
  await using slow = slowProvider(clock, 900);
  await using fast = slowProvider(clock, 100);
  await using gateway = await startModelGroup([[slow], [fast]], {
    clock,
    loadBalancing: { policy: "LeastLatency" },
  });
  const isFast = () => fast.requests.length;
  for (let i = 0; i < 2; i++) await (await chat(gateway)).text();

  for (let i = 0; i < 150; i++) {
    clock.advance(900);
    await (await chat(gateway)).text();
  }

  const again = slow.requests.length - 1;
  assert(again >= 1 && again < isFast() / 10, `${again} of ${isFast()}`);
});

Deno.test("the trace says how a backend was chosen", async () => {
  const clock = new FakeClock();
  await using one = slowProvider(clock, 300);
  await using two = slowProvider(clock, 100);
  await using gateway = await startModelGroup([[one], [two]], {
    clock,
    loadBalancing: { policy: "LeastLatency" },
  });
  await (await chat(gateway)).text();
  await (await chat(gateway)).text();
  const events = eventsOf(await gateway.watch());
  await (await chat(gateway)).text();

  const traced = (await events).flatMap(({ message }) =>
    message.type === "policyEvent" && message.kind === "load_balancing"
      ? [JSON.stringify(message.details)]
      : []
  );
  assert.match(
    traced.join(),
    /^\{"policy":"LeastLatency","to":"default\/two","compared":\{"default\/(?:one":"\d+ ms","default\/two":"\d+ ms|two":"\d+ ms","default\/one":"\d+ ms)"\}\}$/,
  );
});

Deno.test("LowestCost takes the cheapest model, and the next one while that fails", async () => {
  let isDown = false;
  const answer = (request: ProviderRequestSeen) =>
    isDown ? new Response("down", { status: 503 }) : answerChat(request);
  await using dear = startProvider(answerChat);
  await using cheap = startProvider(answer);
  await using unpriced = startProvider(answerChat);
  await using gateway = await startModelGroup([
    [unpriced, { model: "unheard-of" }],
    [dear, { model: "dear" }],
    [cheap, { model: "cheap" }],
  ], {
    config: {
      prices: {
        models: [
          { model: "dear", input: 3, output: 15 },
          { model: "cheap", input: 0.1, output: 0.4 },
        ],
      },
    },
    loadBalancing: { policy: "LowestCost" },
  });

  for (let i = 0; i < 5; i++) await (await chat(gateway)).text();
  assert.equal(cheap.requests.length, 5);
  isDown = true;
  const response = await chat(gateway);
  await response.text();

  assert.equal(response.headers.get("x-gateway-failover"), "three=503");
  assert.equal(dear.requests.length, 1);
  assert.equal(unpriced.requests.length, 0);
});

const quotas: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "of OpenAI": {
    "x-ratelimit-limit-requests": "100",
    "x-ratelimit-remaining-requests": "90",
    "x-ratelimit-limit-tokens": "40000",
    "x-ratelimit-remaining-tokens": "0",
    "x-ratelimit-reset-tokens": "1m0s",
  },
  "of Anthropic": {
    "anthropic-ratelimit-requests-limit": "50",
    "anthropic-ratelimit-requests-remaining": "0",
    "anthropic-ratelimit-requests-reset": "2026-01-01T00:01:00Z",
  },
};
for (const [name, headers] of Object.entries(quotas)) {
  Deno.test(`MostQuota leaves a provider whose limit is used up, by headers ${name}`, async () => {
    const clock = new FakeClock();
    await using used = startProvider(async (request) => {
      const response = answerChat(request);
      return new Response(await response.text(), {
        headers: { ...Object.fromEntries(response.headers), ...headers },
      });
    });
    await using free = startProvider(answerChat);
    await using gateway = await startModelGroup([
      [used],
      [free, {}],
    ], { clock, loadBalancing: { policy: "MostQuota" } });
    while (used.requests.length === 0) await (await chat(gateway)).text();
    const before = free.requests.length;

    for (let i = 0; i < 20; i++) await (await chat(gateway)).text();
    assert.deepEqual(
      [used.requests.length, free.requests.length],
      [1, before + 20],
    );
    clock.advance(60_000);
    while (used.requests.length === 1) await (await chat(gateway)).text();
  });
}

Deno.test("explain says why a backend was chosen", async () => {
  await using dear = startProvider(answerChat);
  await using cheap = startProvider(() =>
    Response.json({ error: { message: "bad" } }, { status: 422 })
  );
  await using gateway = await startModelGroup([
    [dear, { model: "dear" }],
    [cheap, { model: "cheap" }],
  ], {
    config: {
      prices: {
        models: [
          { model: "dear", input: 3, output: 15 },
          { model: "cheap", input: 0.1, output: 0.4 },
        ],
      },
    },
    loadBalancing: { policy: "LowestCost" },
  });

  const response = await chat(gateway);
  await response.text();

  const id = response.headers.get("x-request-id");
  const report = await fetch(`${gateway.admin}/debug/requests/${id}`);
  assert.match(
    (await report.json()).cause,
    /LowestCost chose default\/two: default\/one \$24\.00 for 3M in, 1M out; default\/two \$0\.70 for 3M in, 1M out\.$/,
  );
});
