import assert from "node:assert/strict";
import { answerChat } from "../../../harness/llm/chat_answers.ts";
import { chat, startModelGroup } from "../../../harness/llm/model_group.ts";
import {
  type ProviderRequestSeen,
  startProvider,
} from "../../../harness/llm/provider_server.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

Deno.test("a rate limit of a model leaves the other models of its key alone", async () => {
  const clock = new FakeClock();
  await using limited = startProvider((request) =>
    JSON.parse(request.body).model === "large"
      ? new Response("slow down", {
        status: 429,
        headers: { "retry-after-ms": "90000" },
      })
      : answerChat(request)
  );
  await using spare = startProvider(answerChat);
  await using gateway = await startModelGroup([[limited], [spare]], {
    clock,
    loadBalancing: { policy: "LowestCost" },
    config: {
      prices: { models: [{ model: "*", input: 1, output: 1 }] },
    },
  });
  while (limited.requests.length === 0) {
    const response = await chat(gateway, { model: "large" });
    assert.equal(response.status, 200);
    await response.text();
  }
  const smallToLimited = async () => {
    const before = limited.requests.length;
    for (let i = 0; i < 20; i++) await (await chat(gateway)).text();
    return limited.requests.length - before;
  };
  const largeToLimited = async () => {
    const before = limited.requests.length;
    for (let i = 0; i < 20; i++) {
      await (await chat(gateway, { model: "large" })).text();
    }
    return limited.requests.length - before;
  };

  const { cooldowns } = await gateway.gateway.dataPlane.call("tasks", 0);
  assert.deepEqual(cooldowns, [{
    backend: "default/one",
    model: "large",
    until: "2026-01-01T00:01:30.000Z",
    failures: 1,
    reason: "429",
  }]);
  assert.equal(await largeToLimited(), 0);
  assert(await smallToLimited() > 0);
  clock.advance(90_000);
  assert(await largeToLimited() > 0);
});

Deno.test("a 429 without Retry-After rests until the reset of the limit", async () => {
  const clock = new FakeClock();
  await using limited = startProvider(() =>
    new Response("slow down", {
      status: 429,
      headers: {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "42s",
      },
    })
  );
  await using spare = startProvider(answerChat);
  await using gateway = await startModelGroup([[limited], [spare]], { clock });
  while (limited.requests.length === 0) await (await chat(gateway)).text();

  const { cooldowns } = await gateway.gateway.dataPlane.call("tasks", 0);
  assert.equal(cooldowns[0]?.until, "2026-01-01T00:00:42.000Z");
});

const withheld: Readonly<
  Record<string, (request: ProviderRequestSeen) => Response>
> = {
  "400 of a content filter": () =>
    Response.json({
      error: { code: "content_filter", message: "The response was filtered" },
    }, { status: 400 }),
  "an answer that is withheld": () =>
    Response.json({
      object: "chat.completion",
      model: "small",
      choices: [{
        message: { role: "assistant", content: "" },
        finish_reason: "content_filter",
      }],
      usage: { prompt_tokens: 700, completion_tokens: 1, total_tokens: 701 },
    }),
};
for (const [name, respond] of Object.entries(withheld)) {
  const startGroup = async (rule: Readonly<Record<string, unknown>>) => {
    const strict = startProvider(respond);
    const lenient = startProvider(answerChat);
    const gateway = await startModelGroup([
      [strict],
      [lenient, { model: "second" }],
    ], {
      // The first one is the cheapest.
      config: {
        prices: { models: [{ model: "small", input: 0, output: 0 }] },
      },
      loadBalancing: { policy: "LowestCost" },
      ...rule,
    });
    return {
      gateway,
      async [Symbol.asyncDispose]() {
        await gateway[Symbol.asyncDispose]();
        await strict[Symbol.asyncDispose]();
        await lenient[Symbol.asyncDispose]();
      },
    };
  };

  Deno.test(`${name} goes to the next provider where that is asked for`, async () => {
    await using group = await startGroup({
      failover: { on: ["ContentFilter"] },
    });

    const response = await chat(group.gateway);

    assert.equal(response.status, 200);
    assert.match(await response.text(), /Hello there/);
    assert.equal(
      response.headers.get("x-gateway-failover"),
      "one=content_filter",
    );
    const again = await chat(group.gateway);
    await again.text();
    // It did not fail.
    assert.equal(again.headers.get("x-gateway-failover"), "one=content_filter");
  });

  Deno.test(`${name} is the client's by default`, async () => {
    await using group = await startGroup({});

    const response = await chat(group.gateway);

    assert.match(await response.text(), /content_filter/);
    assert.equal(response.headers.get("x-gateway-failover"), null);
  });

  if (name.startsWith("400")) continue;
  Deno.test("what a withheld answer used is counted", async () => {
    await using group = await startGroup({
      failover: { on: ["ContentFilter"] },
    });

    await (await chat(group.gateway)).text();

    const metrics = await group.gateway.gateway.dataPlane.call(
      "collectMetrics",
      new Set(["gateway_llm_tokens_total"]),
    );
    assert.match(metrics, /backend="one",model="small",type="input"\} 700$/m);
    assert.match(metrics, /backend="two",model="second",type="input"\} 14$/m);
  });
}

for (const [stream, ms] of [[true, 60_000], [false, 120_000]] as const) {
  Deno.test(`a provider that hangs gives way after ${ms} ms, streaming: ${stream}`, async () => {
    const clock = new FakeClock();
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    await using hung = startProvider(async ({ signal }) => {
      asked();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return new Response();
    });
    await using spare = startProvider(answerChat);
    await using gateway = await startModelGroup([
      [hung],
      [spare, { model: "second" }],
    ], {
      clock,
      config: {
        prices: { models: [{ model: "small", input: 0, output: 0 }] },
      },
      loadBalancing: { policy: "LowestCost" },
    });
    const pending = chat(gateway, { stream });
    await isAsked;

    clock.advance(ms - 1);
    assert.equal(spare.requests.length, 0);
    clock.advance(1);

    const response = await pending;
    assert.match(await response.text(), /Hello/);
    assert.equal(
      response.headers.get("x-gateway-failover"),
      "one=upstream_timeout",
    );
  });
}

Deno.test("a provider whose streams begin soon gives way after half a minute", async () => {
  const clock = new FakeClock();
  let hangs = false;
  let asked = () => {};
  await using hung = startProvider(async (request) => {
    if (!hangs) return answerChat(request);
    asked();
    await new Promise((resolve) =>
      request.signal.addEventListener("abort", resolve)
    );
    return new Response();
  });
  await using spare = startProvider(answerChat);
  await using gateway = await startModelGroup([
    [hung],
    [spare, { model: "second" }],
  ], {
    clock,
    config: { prices: { models: [{ model: "small", input: 0, output: 0 }] } },
    loadBalancing: { policy: "LowestCost" },
  });
  for (let i = 0; i < 4; i++) {
    await (await chat(gateway, { stream: true })).text();
  }
  hangs = true;
  const isAsked = new Promise<void>((resolve) => asked = resolve);
  const pending = chat(gateway, { stream: true });
  await isAsked;

  clock.advance(30_000);

  const response = await pending;
  assert.match(await response.text(), /Hello/);
  assert.equal(spare.requests.length, 1);
});
