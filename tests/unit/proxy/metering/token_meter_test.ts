import assert from "node:assert/strict";
import { type Body, BytesBody, textBody } from "../../../../src/http/body.ts";
import { noPrices } from "../../../../src/policy/noop_services.ts";
import { TokenMeter } from "../../../../src/proxy/metering/meter/token_meter.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { context, response } from "../../policy/exchange.ts";
import { bytesOf, events } from "../../llm/llm_responses.ts";

const usage = { prompt_tokens: 20, completion_tokens: 5 };
const stream = events({ choices: [{ delta: {} }] }, { choices: [], usage });

for (
  const [host, isShown] of [
    ["api.together.xyz", true],
    ["openrouter.ai", true],
    ["api.openai.com", false],
    ["nottogether.ai", false],
  ] as const
) {
  Deno.test(`a client of ${host} that did not ask for the usage ${isShown ? "gets" : "does not get"} it under a budget`, async () => {
    const { request } = context({
      method: "POST",
      target: "/v1/chat/completions",
    });
    request.body = textBody('{"stream":true,"messages":[]}');
    const charged: number[] = [];
    const listener = {
      settle: ({ totalTokens }: { readonly totalTokens: number }) =>
        charged.push(totalTokens),
      charge: () => false,
    };
    const meter = new TokenMeter("chat", {
      prices: noPrices,
      clock: new FakeClock(),
      counted: {
        count: () => Promise.resolve(0),
        claim: () => Promise.resolve(0),
      },
      host,
      port: 443,
      priceHost: host,
      modelAt: (requested) => requested,
      onUsed: () => {},
    }, {
      listeners: [listener],
      rules: { mayRequestUsage: true, drains: false, deniesUnknown: false },
    });
    await meter.prepare(request, 1000);
    const message = response({ "content-type": "text/event-stream" });
    message.body = new BytesBody(bytesOf(stream));
    meter.watch(message);

    const sent = await readText(request.body);
    assert.match(sent, /"include_usage":true/);
    assert.equal((await readText(message.body)).includes("usage"), isShown);
    assert.deepEqual(charged, [25]);
  });
}

async function readText(body: Body | undefined): Promise<string> {
  let text = "";
  for (let chunk = await body?.read(); chunk; chunk = await body?.read()) {
    text += new TextDecoder().decode(chunk);
  }
  return text;
}
