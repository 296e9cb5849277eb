import assert from "node:assert/strict";
import { readLlmRequest } from "../../../../src/policy/expressions/llm_variable.ts";
import { authorization, decide, refused } from "../authorization.ts";
import { context } from "../exchange.ts";
import { textBody } from "../../../../src/http/body.ts";

const chat = { method: "POST", target: "/v1/chat/completions" };

/** Path and body of a request, a rule, and its result. */
const decisions: [string, Parameters<typeof decide>[1], string, string][] = [
  [
    "a model in the body",
    { ...chat, body: '{"model":"small"}' },
    "llm.requestModel == 'small'",
    "pass",
  ],
  [
    "another model",
    { ...chat, body: '{"model":"large"}' },
    "llm.requestModel == 'small'",
    refused,
  ],
  ["a stream", { ...chat, body: '{"stream":true}' }, "llm.streaming", "pass"],
  ["no stream", { ...chat, body: '{"a":1}' }, "!llm.streaming", "pass"],
  [
    "the interface",
    { ...chat, body: "{}" },
    "llm.provider == 'chat'",
    "pass",
  ],
  [
    "no model",
    { ...chat, body: "{}" },
    "!has(llm.requestModel)",
    "pass",
  ],
  [
    "no body at all",
    { target: "/v1/models" },
    "!has(llm.requestModel) && !has(llm.provider) && !llm.streaming",
    "pass",
  ],
  [
    "a model of Gemini, streamed",
    {
      method: "POST",
      target: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
      body: '{"model":"other"}',
    },
    "llm.provider == 'gemini' && llm.requestModel == 'gemini-2.5-pro' && llm.streaming",
    "pass",
  ],
  [
    "a model of Bedrock, streamed",
    {
      method: "POST",
      target: "/model/anthropic.claude-3%3A0/converse-stream",
      body: "{}",
    },
    "llm.provider == 'converse' && llm.requestModel == 'anthropic.claude-3:0' && llm.streaming",
    "pass",
  ],
  [
    "a deployment of Azure",
    {
      method: "POST",
      target: "/openai/deployments/large/chat/completions?api-version=1",
      body: '{"model":"small"}',
    },
    "llm.requestModel == 'large' && !llm.streaming",
    "pass",
  ],
  [
    "a stream only by the query",
    {
      method: "POST",
      target: "/v1/messages?a=/models/x:streamGenerateContent",
      body: '{"model":"claude"}',
    },
    "llm.requestModel == 'claude' && !llm.streaming",
    "pass",
  ],
];

/** A batch with these members. */
function batch(target: string, body: Record<string, unknown>) {
  return { method: "POST", target, body: JSON.stringify(body) };
}

const anthropic = "/v1/messages/batches";
const mistral = "/v1/batch/jobs";
const gemini = "/v1beta/models/small:batchGenerateContent";

function requests(...models: string[]) {
  return models.map((model) => ({ params: { model } }));
}

function inline(...models: string[]) {
  return {
    requests: { requests: models.map((model) => ({ request: { model } })) },
  };
}

decisions.push(
  [
    "the model of all requests in a batch of Anthropic",
    batch(anthropic, { requests: requests("small", "small") }),
    "llm.requestModel == 'small'",
    "pass",
  ],
  [
    "another model in a batch",
    batch(anthropic, { requests: requests("large") }),
    "llm.requestModel == 'small'",
    refused,
  ],
  [
    "the model of a batch of Mistral",
    batch(mistral, { model: "small", requests: [{ body: { messages: [] } }] }),
    "llm.requestModel == 'small'",
    "pass",
  ],
  [
    "the model of a batch of Gemini",
    batch(gemini, { batch: { input_config: inline("models/small") } }),
    "llm.requestModel == 'small'",
    "pass",
  ],
);

const fallbacks = { ...chat, body: '{"model":"a","models":["b","c"]}' };
decisions.push(
  [
    "models that all may respond",
    fallbacks,
    "llm.requestModel in ['a', 'b', 'c']",
    "pass",
  ],
  [
    "a last model that may not",
    fallbacks,
    "llm.requestModel in ['a', 'b']",
    refused,
  ],
  [
    "models without a first one",
    { ...chat, body: '{"models":["b"]}' },
    "llm.requestModel == 'a'",
    refused,
  ],
  [
    "a model that is named twice",
    { ...chat, body: '{"model":"a","models":["a"]}' },
    "llm.requestModel == 'a'",
    "pass",
  ],
  [
    "no further models",
    { ...chat, body: '{"model":"a","models":null}' },
    "llm.requestModel == 'a'",
    "pass",
  ],
  [
    "models that are no list",
    { ...chat, body: '{"model":"a","models":"b"}' },
    "llm.requestModel == 'a'",
    refused,
  ],
  [
    "models that are no names",
    { ...chat, body: '{"model":"a","models":[1]}' },
    "llm.requestModel == 'a'",
    refused,
  ],
  [
    "models in another spelling",
    { ...chat, body: '{"model":"a","Models":["b"]}' },
    "llm.requestModel == 'a'",
    "bad_request",
  ],
);

Deno.test("a rule that denies a model denies it among others that may respond", async () => {
  const deny = authorization(["llm.requestModel == 'c'"], "Deny");
  assert.equal(await decide(deny, fallbacks), refused);
  const other = authorization(["llm.requestModel == 'd'"], "Deny");
  assert.equal(await decide(other, fallbacks), "pass");
});

for (const [what, request, rule, expected] of decisions) {
  Deno.test(`llm shows ${what}: ${rule}`, async () => {
    assert.equal(await decide(authorization([rule]), request), expected);
  });
}

const unreadable: [string, Parameters<typeof decide>[1]][] = [
  ["no JSON", { ...chat, body: "model=small" }],
  ["a list", { ...chat, body: '[{"model":"small"}]' }],
  ["a model that is no text", { ...chat, body: '{"model":1}' }],
  ["half an object", { ...chat, body: '{"model":"small"' }],
  [
    "the type of a form",
    {
      ...chat,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: '{"model":"small","a":"&model=large&"}',
    },
  ],
  ["a byte order mark", { ...chat, body: '\ufeff{"model":"small"}' }],
  [
    "more than 8 MiB",
    { ...chat, body: `{"model":"${"a".repeat(8 * 1024 * 1024)}"}` },
  ],
];
unreadable.push(
  [
    "two models in a batch",
    batch(anthropic, { requests: requests("small", "large") }),
  ],
  [
    "another model beside those of a batch",
    batch(`${anthropic}?beta=true`, {
      model: "small",
      requests: requests("large"),
    }),
  ],
  [
    "a batch in a file",
    batch("/v1/batches", { model: "small", input_file_id: "file-1" }),
  ],
  [
    "a batch in a file, and a model in the path",
    batch("/openai/deployments/small/batches;a?b", { input_file_id: "file-1" }),
  ],
  [
    "a batch of Mistral in files",
    batch(mistral, { model: "small", input_files: ["1"] }),
  ],
  [
    "a batch of an agent",
    batch(mistral, { model: "small", agent_id: "ag", requests: [] }),
  ],
  [
    "another model in a batch of Mistral",
    batch(mistral, {
      model: "small",
      requests: [{ body: { model: "large" } }],
    }),
  ],
  [
    "another model in a batch of Gemini",
    batch(gemini, { batch: { inputConfig: inline("models/large") } }),
  ],
  [
    "a batch of Gemini in a file",
    batch(gemini, { batch: { inputConfig: { fileName: "files/1" } } }),
  ],
  ["a batch without requests", batch(anthropic, {})],
);
const ambiguous: typeof unreadable = [
  [
    "two lists of requests",
    {
      method: "POST",
      target: anthropic,
      body:
        '{"requests":[{"params":{"model":"small"}}],"Requests":[{"params":{"model":"large"}}]}',
    },
  ],
  ["two cases of a name", { ...chat, body: '{"model":"small","Model":"b"}' }],
  ["a stream in two cases", { ...chat, body: '{"stream":false,"Stream":1}' }],
  ["two models", { ...chat, body: '{"model":"large","model":"small"}' }],
  ["an escaped name twice", {
    ...chat,
    body: '{"model":"a","mod\\u0065l":""}',
  }],
];
const rules = [
  "llm.requestModel == 'small'",
  "!has(llm.requestModel)",
  "!llm.streaming",
];

for (const [what, request] of unreadable) {
  Deno.test(`rules about llm reject a body with ${what}`, async () => {
    for (const rule of rules) {
      assert.equal(await decide(authorization([rule]), request), refused);
      const deny = authorization([rule], "Deny");
      assert.equal(await decide(deny, request), refused);
    }
  });
}

for (const [what, request] of ambiguous) {
  Deno.test(`rules about llm reject a body with ${what}`, async () => {
    for (const rule of rules) {
      assert.equal(await decide(authorization([rule]), request), "bad_request");
    }
  });
}

Deno.test("llm leaves the body as it was", async () => {
  const on = context(chat);
  on.request.body = textBody('{"model":"small"}');

  await readLlmRequest(on.request);

  const bytes = await on.request.body.read();
  assert.equal(new TextDecoder().decode(bytes), '{"model":"small"}');
  assert.equal(await on.request.body.read(), undefined);
});
