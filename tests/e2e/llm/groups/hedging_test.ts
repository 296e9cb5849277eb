import assert from "node:assert/strict";
import { answerChat } from "../../../harness/llm/chat_answers.ts";
import { chat, startModelGroup } from "../../../harness/llm/model_group.ts";
import {
  type ProviderRequestSeen,
  type ProviderServer,
  startProvider,
} from "../../../harness/llm/provider_server.ts";
import {
  eventsOf,
  type TracedGateway,
} from "../../../harness/gateway/traced_gateway.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

/** A provider that answers when it is told to. */
interface HeldProvider extends ProviderServer {
  /** Resolves with the first request. */
  readonly asked: Promise<void>;
  /** Resolves when the gateway has given the first request up. */
  readonly left: Promise<void>;
  answer(): void;
}

function heldProvider(): HeldProvider {
  const asked = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const server = startProvider(async (request: ProviderRequestSeen) => {
    asked.resolve();
    request.signal.addEventListener("abort", () => left.resolve());
    await Promise.race([left.promise, answered.promise]);
    return answerChat(request);
  });
  return Object.assign(server, {
    asked: asked.promise,
    left: left.promise,
    answer: () => answered.resolve(),
  });
}

/** Requests go to `one` first, whose price is the lowest. */
const hedged = {
  config: {
    prices: {
      models: [
        { model: "small", input: 1, output: 1 },
        { model: "second", input: 2, output: 2 },
      ],
    },
  },
  loadBalancing: { policy: "LowestCost" },
  hedging: { delay: "2s" },
};

function metricsOf({ gateway }: TracedGateway, ...names: string[]) {
  return gateway.dataPlane.call("collectMetrics", new Set(names));
}

for (const stream of [false, true]) {
  Deno.test(`a request that is late goes to a second provider, which wins, streaming: ${stream}`, async () => {
    const clock = new FakeClock();
    await using slow = heldProvider();
    await using fast = startProvider(answerChat);
    await using gateway = await startModelGroup(
      [[slow], [fast, { model: "second" }]],
      { clock, ...hedged },
    );
    const events = eventsOf(await gateway.watch());
    const pending = chat(gateway, { stream });
    await slow.asked;

    clock.advance(2000);

    const response = await pending;
    assert.match(await response.text(), /Hello/);
    assert.equal(response.headers.get("x-gateway-failover"), "one=hedged");
    await slow.left;
    const traced = (await events).flatMap(({ message }) =>
      message.type === "policyEvent" && message.kind === "hedging"
        ? [message.details]
        : []
    );
    assert.deepEqual(traced, [
      { first: "default/one", second: "default/two", after: "2000ms" },
      {
        lost: "default/one",
        reason: 'Cancelled: "default/two" responded first',
      },
    ]);
    const metrics = await metricsOf(
      gateway,
      "gateway_hedges_total",
      "gateway_llm_tokens_total",
    );
    assert.match(metrics, /^gateway_hedges_total\{backend="two"\} 1$/m);
    assert.match(
      metrics,
      /backend="one",model="small",type="input"\} [1-9]\d*$/m,
    );
    assert.match(
      metrics,
      /backend="two",model="second",type="output"\} [1-9]\d*$/m,
    );
    assert.match(gateway.accessLog[0] ?? "", / backend=two /);
  });
}

Deno.test("the first provider can still win after the second was asked", async () => {
  const clock = new FakeClock();
  await using first = heldProvider();
  await using second = heldProvider();
  await using gateway = await startModelGroup(
    [[first], [second, { model: "second" }]],
    { clock, ...hedged },
  );
  const pending = chat(gateway);
  await first.asked;
  clock.advance(2000);
  await second.asked;

  first.answer();

  const response = await pending;
  assert.match(await response.text(), /Hello/);
  assert.equal(response.headers.get("x-gateway-failover"), null);
  await second.left;
});

Deno.test("a request that is answered in time goes to one provider", async () => {
  await using first = startProvider(answerChat);
  await using second = startProvider(answerChat);
  await using gateway = await startModelGroup(
    [[first], [second, { model: "second" }]],
    hedged,
  );

  for (let i = 0; i < 5; i++) await (await chat(gateway)).text();

  assert.deepEqual([first.requests.length, second.requests.length], [5, 0]);
});

Deno.test("a request goes on to the next provider when both fail", async () => {
  const clock = new FakeClock();
  const fail = () => new Response("down", { status: 503 });
  const { promise: isFailing, resolve: failNow } = Promise.withResolvers<
    void
  >();
  const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
  await using first = startProvider(async () => {
    asked();
    await isFailing;
    return fail();
  });
  await using second = startProvider(() => {
    failNow();
    return fail();
  });
  await using third = startProvider(answerChat);
  await using gateway = await startModelGroup(
    [[first], [second, { model: "second" }], [third, { model: "third" }]],
    { clock, ...hedged },
  );
  const pending = chat(gateway);
  await isAsked;

  clock.advance(2000);

  const response = await pending;
  assert.match(await response.text(), /Hello/);
  const failed = response.headers.get("x-gateway-failover")?.split(", ") ?? [];
  assert.deepEqual(failed.toSorted(), ["one=503", "two=503"]);
});

Deno.test("a request that is too long to be kept goes to one provider", async () => {
  const clock = new FakeClock();
  await using first = heldProvider();
  await using second = startProvider(answerChat);
  await using gateway = await startModelGroup(
    [[first], [second, { model: "second" }]],
    {
      clock,
      ...hedged,
      config: { ...hedged.config, limits: { maxBufferBytes: 65_536 } },
    },
  );
  const content = "x".repeat(100_000);
  const pending = chat(gateway, { messages: [{ role: "user", content }] });
  await first.asked;

  clock.advance(2000);
  first.answer();

  const response = await pending;
  assert.match(await response.text(), /Hello/);
  assert.equal(second.requests.length, 0);
  assert(first.requests[0]?.body.includes(content));
});

Deno.test("a client that leaves cancels both attempts", async () => {
  await using first = heldProvider();
  await using second = heldProvider();
  await using gateway = await startModelGroup(
    [[first], [second, { model: "second" }]],
    { ...hedged, hedging: { delay: "1ms" } },
  );
  const leaving = new AbortController();
  const pending = chat(gateway, {}, { signal: leaving.signal });
  await Promise.all([first.asked, second.asked]);

  leaving.abort();

  await assert.rejects(pending);
  await Promise.all([first.left, second.left]);
});

Deno.test("a budget pays for both attempts", async () => {
  const clock = new FakeClock();
  await using slow = heldProvider();
  await using fast = startProvider(answerChat);
  await using gateway = await startModelGroup(
    [[slow], [fast, { model: "second" }]],
    {
      clock,
      ...hedged,
      policies: {
        rateLimit: { local: [{ tokens: 1000, unit: "Hours" }] },
      },
    },
  );
  const pending = chat(gateway);
  await slow.asked;
  clock.advance(2000);
  await (await pending).text();
  await slow.left;

  const response = await chat(gateway);
  await response.text();

  // The answer used 19 tokens, and the input of the attempt that was given up is estimated.
  const left = Number(response.headers.get("x-ratelimit-remaining"));
  assert(left > 900 && left < 1000 - 19 - 10, `${left}`);
});
