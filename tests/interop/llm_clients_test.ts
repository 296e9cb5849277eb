import Anthropic from "@anthropic-ai/sdk";
import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import OpenAI from "openai";
import { startPlayground } from "../../cli/dev/playground.ts";
import { fetchRaw } from "../harness/fetch_raw.ts";

const messages = [{ role: "user" as const, content: "Hello there" }];
const answer = "You said: Hello there";

for (const encoding of ["gzip", "identity"]) {
  const defaultHeaders = { "accept-encoding": encoding };
  const connectOpenAi = (url: string) =>
    new OpenAI({
      baseURL: `${url}/v1`,
      apiKey: "none",
      maxRetries: 0,
      defaultHeaders,
    });
  const connectAnthropic = (url: string) =>
    new Anthropic({
      baseURL: url,
      apiKey: "none",
      maxRetries: 0,
      defaultHeaders,
    });

  Deno.test(`openai client reads a chat completion sent as ${encoding}`, async () => {
    await using playground = startPlayground();
    const openai = connectOpenAi(playground.llmUrl);

    const completion = await openai.chat.completions.create({
      model: "any",
      messages,
    });

    assert.equal(completion.choices[0]?.message.content, answer);
    assert.equal(completion.choices[0]?.finish_reason, "stop");
    assert.equal(completion.usage?.total_tokens, 9);
  });

  Deno.test(`openai client reads a chat completion streamed as ${encoding}`, async () => {
    await using playground = startPlayground();
    const openai = connectOpenAi(playground.llmUrl);

    const stream = openai.chat.completions.stream({
      model: "any",
      messages,
      stream_options: { include_usage: true },
    });
    const completion = await stream.finalChatCompletion();

    assert.equal(completion.choices[0]?.message.content, answer);
    assert.equal(completion.choices[0]?.finish_reason, "stop");
    assert.equal(completion.usage?.completion_tokens, 4);
  });

  Deno.test(`openai client reads a response sent as ${encoding}`, async () => {
    await using playground = startPlayground();
    const openai = connectOpenAi(playground.llmUrl);

    const response = await openai.responses.create({
      model: "any",
      input: "Hello there",
    });

    assert.equal(response.output_text, answer);
    assert.equal(response.usage?.total_tokens, 9);
  });

  Deno.test(`openai client reads a response streamed as ${encoding}`, async () => {
    await using playground = startPlayground();
    const openai = connectOpenAi(playground.llmUrl);

    const stream = openai.responses.stream({
      model: "any",
      input: "Hello there",
    });
    const response = await stream.finalResponse();

    assert.equal(response.output_text, answer);
    assert.equal(response.status, "completed");
    assert.equal(response.usage?.output_tokens, 4);
  });

  Deno.test(`openai client reads embeddings and models sent as ${encoding}`, async () => {
    await using playground = startPlayground();
    const openai = connectOpenAi(playground.llmUrl);

    const input = ["one", "two"];
    const packed = await openai.embeddings.create({ model: "any", input });
    const plain = await openai.embeddings.create({
      model: "any",
      input,
      encoding_format: "float",
    });
    const models = await openai.models.list();

    assert.deepEqual(packed.data.map(({ embedding }) => embedding.length), [
      256,
      256,
    ]);
    assert.deepEqual(packed.data, plain.data);
    assert.equal(models.data[0]?.id, "playground-large");
  });

  Deno.test(`anthropic client reads a message sent as ${encoding}`, async () => {
    await using playground = startPlayground();
    const anthropic = connectAnthropic(playground.llmUrl);

    const message = await anthropic.messages.create({
      model: "any",
      max_tokens: 100,
      messages,
    });

    assert.deepEqual(message.content, [{ type: "text", text: answer }]);
    assert.equal(message.stop_reason, "end_turn");
    assert.equal(message.usage.input_tokens, 5);
    assert.equal(message.usage.output_tokens, 4);
  });

  Deno.test(`anthropic client reads a message streamed as ${encoding}`, async () => {
    await using playground = startPlayground();
    const anthropic = connectAnthropic(playground.llmUrl);

    const stream = anthropic.messages.stream({
      model: "any",
      max_tokens: 2,
      messages,
    });
    const message = await stream.finalMessage();

    assert.equal(await stream.finalText(), "You said:");
    assert.equal(message.stop_reason, "max_tokens");
    assert.equal(message.usage.output_tokens, 2);
  });
}

Deno.test("openai client gets OpenAI's own error for a refused call", async () => {
  await using playground = startPlayground();
  const openai = new OpenAI({
    baseURL: `${playground.llmUrl}/v1`,
    apiKey: "none",
    maxRetries: 0,
  });

  const refused = openai.chat.completions.create({
    model: "any",
    messages: [],
  });

  await assert.rejects(refused, (error) => {
    assert(error instanceof OpenAI.BadRequestError);
    assert.equal(error.param, "messages");
    assert.equal(error.code, "invalid_type");
    assert.match(error.requestID ?? "", /^req_/);
    return true;
  });
});

Deno.test("anthropic client gets Anthropic's own error for an overloaded server", async () => {
  await using playground = startPlayground();
  const anthropic = new Anthropic({
    baseURL: playground.llmUrl,
    apiKey: "none",
    maxRetries: 0,
    defaultHeaders: { "x-playground-status": "529" },
  });

  const refused = anthropic.messages.create({
    model: "any",
    max_tokens: 1,
    messages,
  });

  await assert.rejects(refused, (error) => {
    assert(error instanceof Anthropic.APIError);
    assert.equal(error.status, 529);
    assert.equal(error.type, "overloaded_error");
    return true;
  });
});

for (
  const { path, body } of [
    { path: "/v1/chat/completions", body: { model: "any", messages } },
    {
      path: "/v1/chat/completions",
      body: { model: "any", messages, stream: true },
    },
    {
      path: "/v1/responses",
      body: { model: "any", input: "Hello", stream: true },
    },
    { path: "/v1/messages", body: { model: "any", max_tokens: 9, messages } },
    {
      path: "/v1/messages",
      body: { model: "any", max_tokens: 9, messages, stream: true },
    },
  ]
) {
  const kind = "stream" in body ? "streamed" : "whole";
  Deno.test(`LLM server sends equal bytes for equal calls of ${path}, ${kind}`, async () => {
    await using playground = startPlayground();
    const call = (encoding: string) =>
      fetchRaw(playground.llmUrl + path, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "accept-encoding": encoding,
        },
        body: JSON.stringify(body),
      });

    const [plain, plainAgain] = [
      await call("identity"),
      await call("identity"),
    ];
    const [packed, packedAgain] = [await call("gzip"), await call("gzip")];

    assert.equal(plain.status, 200);
    assert.equal(plain.headers["content-encoding"], undefined);
    assert.equal(packed.headers["content-encoding"], "gzip");
    assert.deepEqual(plainAgain.bytes, plain.bytes);
    assert.deepEqual(packedAgain.bytes, packed.bytes);
    assert.deepEqual(new Uint8Array(gunzipSync(packed.bytes)), plain.bytes);
  });
}
