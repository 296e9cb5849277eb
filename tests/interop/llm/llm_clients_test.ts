import Anthropic from "@anthropic-ai/sdk";
import assert from "node:assert/strict";
import OpenAI from "openai";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import {
  directly,
  openPlayground,
  paths,
} from "../../harness/process/paths.ts";

const messages = [{ role: "user" as const, content: "Hello there" }];
const answer = "You said: Hello there";

const ways = paths.flatMap((path) =>
  ["gzip", "identity"].map((encoding) => ({
    path,
    encoding,
    how: `${encoding} ${path.name}`,
  }))
);

for (const { path, encoding, how } of ways) {
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

  Deno.test(`openai client reads a chat completion sent as ${how}`, async () => {
    await using playground = await openPlayground(path);
    const openai = connectOpenAi(playground.llmUrl);

    const completion = await openai.chat.completions.create({
      model: "any",
      messages,
    });

    assert.equal(completion.choices[0]?.message.content, answer);
    assert.equal(completion.choices[0]?.finish_reason, "stop");
    assert.equal(completion.usage?.total_tokens, 9);
  });

  Deno.test(`openai client reads a chat completion streamed as ${how}`, async () => {
    await using playground = await openPlayground(path);
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

  Deno.test(`openai client reads a response sent as ${how}`, async () => {
    await using playground = await openPlayground(path);
    const openai = connectOpenAi(playground.llmUrl);

    const response = await openai.responses.create({
      model: "any",
      input: "Hello there",
    });

    assert.equal(response.output_text, answer);
    assert.equal(response.usage?.total_tokens, 9);
  });

  Deno.test(`openai client reads a response streamed as ${how}`, async () => {
    await using playground = await openPlayground(path);
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

  Deno.test(`openai client reads embeddings and models sent as ${how}`, async () => {
    await using playground = await openPlayground(path);
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

  Deno.test(`anthropic client reads a message sent as ${how}`, async () => {
    await using playground = await openPlayground(path);
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

  Deno.test(`anthropic client reads a message streamed as ${how}`, async () => {
    await using playground = await openPlayground(path);
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

for (const path of paths) {
  Deno.test(`openai client gets OpenAI's own error ${path.name}`, async () => {
    await using playground = await openPlayground(path);
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

  Deno.test(`anthropic client gets Anthropic's own error ${path.name}`, async () => {
    await using playground = await openPlayground(path);
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
}

for (
  const { target, body } of [
    { target: "/v1/chat/completions", body: { model: "any", messages } },
    {
      target: "/v1/chat/completions",
      body: { model: "any", messages, stream: true },
    },
    {
      target: "/v1/responses",
      body: { model: "any", input: "Hello", stream: true },
    },
    { target: "/v1/messages", body: { model: "any", max_tokens: 9, messages } },
    {
      target: "/v1/messages",
      body: { model: "any", max_tokens: 9, messages, stream: true },
    },
  ]
) {
  const kind = "stream" in body ? "streamed" : "whole";
  for (const { path, encoding, how } of ways) {
    Deno.test(`${target} gives equal bytes, ${kind}, as ${how}`, async () => {
      await using far = await openPlayground(path);
      await using near = await openPlayground(directly);
      const call = {
        method: "POST" as const,
        headers: {
          "content-type": "application/json",
          "accept-encoding": encoding,
        },
        body: JSON.stringify(body),
      };

      const actual = await fetchRaw(far.llmUrl + target, call);
      const expected = await fetchRaw(near.llmUrl + target, call);

      assert.equal(actual.status, 200);
      assert.deepEqual(actual.bytes, expected.bytes);
      assert.equal(
        actual.headers["content-encoding"],
        expected.headers["content-encoding"],
      );
      assert.equal(
        actual.headers["content-length"],
        expected.headers["content-length"],
      );
    });
  }
}
