import assert from "node:assert/strict";
import { textSource } from "../../../../mod.ts";
import { Gateway } from "../../../../src/gateway/gateway.ts";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { freePort } from "../../../harness/process/free_port.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { encode, LlmUpstream } from "../../../harness/llm/llm_upstream.ts";
import { bytesOf, json } from "../../../unit/llm/llm_responses.ts";

/** At 2.5 and 10 USD per million tokens: 0.0125 USD. */
const usage = { prompt_tokens: 1000, completion_tokens: 1000 };
const choices = [{ index: 0, message: { role: "assistant", content: "Hi" } }];

function answer(model: string): Uint8Array {
  return bytesOf(JSON.stringify({ model, choices, usage }));
}

const stream = bytesOf(
  `data: ${JSON.stringify({ model: "gpt-4o", choices, usage })}\n\n` +
    "data: [DONE]\n\n",
);

const cases = {
  plain: { contentType: json, body: answer("gpt-4o") },
  gzip: { contentType: json, body: answer("gpt-4o"), coding: "gzip" },
  unpriced: { contentType: json, body: answer("nobody-knows-it") },
  long: {
    contentType: json,
    body: bytesOf(
      JSON.stringify({ usage, model: "gpt-4o", text: "x".repeat(70_000) }),
    ),
  },
  stream: { contentType: "text/event-stream", body: stream },
} as const;
type Case = keyof typeof cases;

function isCase(name: string): name is Case {
  return Object.hasOwn(cases, name);
}

interface Shown {
  readonly header?: string;
  readonly log?: string;
}

const costOf: Readonly<Record<Case, Shown>> = {
  plain: { header: "0.0125 gpt-4o 1000+1000", log: "0.0125" },
  gzip: { header: "0.0125 gpt-4o 1000+1000", log: "0.0125" },
  unpriced: {},
  // Neither is held until its end.
  long: { log: "0.0125" },
  stream: { log: "0.0125" },
};

Deno.test("headers and log have what a response of an LLM has cost", async () => {
  await using upstream = await LlmUpstream.start(({ url }) => {
    const name = url.slice(1, url.indexOf("/", 1));
    assert.ok(isCase(name));
    return cases[name];
  });
  await using gateway = await startTestGateway({
    config: {
      accessLog: { add: { cost: "llm.cost" } },
      limits: { maxBufferBytes: 65_536 },
    },
    routes: [{
      backends: upstream.backends,
      policies: {
        transformation: {
          response: {
            set: [{
              name: "x-cost",
              value:
                "string(llm.cost) + ' ' + llm.responseModel + ' ' + string(llm.inputTokens) + '+' + string(llm.outputTokens)",
            }],
          },
        },
      },
    }],
  });
  for (const name of Object.keys(cases)) {
    assert.ok(isCase(name));
    const { header, log } = costOf[name];
    const { headers, bytes } = await fetchRaw(
      `${gateway.origin}/${name}/chat/completions`,
      {
        method: "POST",
        headers: { "content-type": json },
        body: '{"model":"gpt-4o","messages":[]}',
      },
    );
    assert.equal(headers["x-cost"], header, name);
    const sent = cases[name];
    const coding = "coding" in sent ? sent.coding : undefined;
    assert.deepEqual(bytes, encode(sent.body, coding), name);
    // The log line is written before the metrics are read.
    await gateway.gateway.dataPlane.call("collectMetrics");
    const line = gateway.accessLog.find((each) => each.includes(`/${name}/`));
    assert.equal(/ cost=(\S+)/.exec(line ?? "")?.[1], log, `${name}: ${line}`);
  }
});

const misplaced = {
  rule: {
    policies: {
      authorization: { policy: { matchExpressions: ["llm.cost < 1.0"] } },
    },
    problem:
      'Cannot use "llm.cost" in a rule: rules run before there is a response',
  },
  request: {
    policies: {
      transformation: {
        request: { set: [{ name: "x-cost", value: "llm.outputTokens" }] },
      },
    },
    problem:
      'Cannot use "llm.outputTokens" in a change of the request: there is no response yet',
  },
};

for (const [place, { policies, problem }] of Object.entries(misplaced)) {
  Deno.test(`what a response has cost cannot be used in a ${place}`, async () => {
    const config = {
      gateways: { default: { port: freePort() } },
      routes: [{ policies, backends: [{ host: "127.0.0.1:1" }] }],
    };
    await assert.rejects(
      Gateway.start({
        config: textSource(JSON.stringify(config)),
        writeLog: () => {},
      }),
      ({ message }: Error) => message.includes(problem),
    );
  });
}
