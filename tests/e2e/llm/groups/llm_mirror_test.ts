import assert from "node:assert/strict";
import { answerChat } from "../../../harness/llm/chat_answers.ts";
import {
  type ProviderRequestSeen,
  startProvider,
} from "../../../harness/llm/provider_server.ts";
import { translationTargets } from "../../../harness/llm/translation_targets.ts";
import { chat } from "../../../harness/llm/model_group.ts";
import {
  startTracedGateway,
  type TracedGateway,
} from "../../../harness/gateway/traced_gateway.ts";

const gemini = translationTargets.find(({ provider }) => provider === "Gemini");

type Respond = (
  request: ProviderRequestSeen,
) => Response | Promise<Response>;

/** Starts a route whose requests a second provider gets copies of. */
async function startMirrored(respond: Respond) {
  const live = startProvider(answerChat);
  const { promise: isMirrored, resolve } = Promise.withResolvers<void>();
  const shadow = startProvider(async (request) => {
    const response = await respond(request);
    resolve();
    return response;
  });
  const llm = (provider: string, host: string, model: string) => ({
    provider,
    host,
    plainText: true,
    model,
    credentials: { key: `planted-${model}` },
  });
  const gateway = await startTracedGateway({
    routes: [{
      name: "chat",
      policies: { rateLimit: { local: [{ tokens: 1000, unit: "Hours" }] } },
      filters: [{
        type: "RequestMirror",
        requestMirror: { backendRef: { name: "shadow" } },
      }],
      backends: [{ backend: "live" }],
    }],
    backends: [
      { name: "live", llm: llm("OpenAI", live.host, "gpt-4o") },
      { name: "shadow", llm: llm("Gemini", shadow.host, "gemini-3-pro") },
    ],
  });
  return {
    ...{ gateway, live, shadow, isMirrored },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await live[Symbol.asyncDispose]();
      await shadow[Symbol.asyncDispose]();
    },
  };
}

/** Waits for a metric that is counted when the copy has its answer. */
async function metricOf({ gateway }: TracedGateway, pattern: RegExp) {
  for (;;) {
    const metrics = await gateway.dataPlane.call("collectMetrics", undefined);
    if (pattern.test(metrics)) return metrics;
    await new Promise((resolve) => setTimeout(resolve));
  }
}

for (const stream of [false, true]) {
  Deno.test(`an LLM gets translated copies, whose answers are counted and not charged, streaming: ${stream}`, async () => {
    await using site = await startMirrored(() =>
      stream
        ? gemini?.textStream() ?? new Response()
        : Response.json(gemini?.text)
    );

    const response = await chat(site.gateway, { stream });
    assert.match(await response.text(), /Hello/);
    await site.isMirrored;

    const [copy] = site.shadow.requests;
    assert.match(copy?.target ?? "", /gemini-3-pro:/);
    assert.equal(copy?.headers.get("x-goog-api-key"), "planted-gemini-3-pro");
    assert.match(copy?.body ?? "", /"contents"/);
    const metrics = await metricOf(
      site.gateway,
      /gateway_mirror_duration_seconds_count\{route="chat",backend="shadow",status="200"\} 1$/m,
    );
    assert.match(
      metrics,
      /gateway_llm_tokens_total\{route="chat",backend="shadow",model="[^"]*",type="output"\} [1-9]/,
    );
    assert.match(
      metrics,
      /gateway_requests_total\{[^}]*backend="live"[^}]*\} 1$/m,
    );
    assert.doesNotMatch(
      metrics,
      /gateway_requests_total\{[^}]*backend="shadow"/,
    );
    const next = await chat(site.gateway);
    await next.text();
    assert.equal(next.headers.get("x-ratelimit-remaining"), "981");
  });
}

Deno.test("errors of a mirrored LLM are counted by status, and the client gets its answer", async () => {
  await using site = await startMirrored(() =>
    Response.json({ error: { message: "overloaded" } }, { status: 503 })
  );

  const response = await chat(site.gateway);

  assert.equal(response.status, 200);
  await response.text();
  await metricOf(
    site.gateway,
    /gateway_mirror_duration_seconds_count\{route="chat",backend="shadow",status="503"\} 1$/m,
  );
});

Deno.test("requests that are no inference are not mirrored to an LLM", async () => {
  await using site = await startMirrored(() => Response.json(gemini?.text));

  const response = await fetch(`${site.gateway.origin}/v1/models`);
  await response.text();
  await (await chat(site.gateway)).text();
  await site.isMirrored;

  assert.equal(site.shadow.requests.length, 1);
});
