import Anthropic from "@anthropic-ai/sdk";
import assert from "node:assert/strict";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { eventStream } from "../../harness/llm/llm_answers.ts";
import {
  type ProviderRequestSeen,
  type ProviderServer,
  startProvider,
} from "../../harness/llm/provider_server.ts";
import { responsesTarget } from "../../harness/llm/responses_target.ts";
import {
  anthropicMessage,
  anthropicStart,
  geminiAnswer,
  translationTargets,
} from "../../harness/llm/translation_targets.ts";

const tools = [{
  type: "function" as const,
  function: {
    name: "get_weather",
    description: "Weather of a city",
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    },
  },
}];

interface Translating extends AsyncDisposable {
  readonly provider: ProviderServer;
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
}

async function openTranslating(
  name: string,
  settings: Readonly<Record<string, unknown>> | undefined,
  respond: (request: ProviderRequestSeen) => Response,
): Promise<Translating> {
  await using opening = new AsyncDisposableStack();
  const provider = opening.use(startProvider(respond));
  const gateway = opening.use(
    await startTestGateway({
      routes: [{
        name: "llm",
        backends: [{
          llm: {
            provider: name,
            host: provider.host,
            plainText: true,
            credentials: { key: "provider-key" },
            ...settings,
          },
        }],
      }],
    }),
  );
  const open = opening.move();
  const options = { apiKey: "client-key", maxRetries: 0 };
  return {
    provider,
    openai: new OpenAI({ ...options, baseURL: `${gateway.origin}/v1` }),
    anthropic: new Anthropic({ ...options, baseURL: gateway.origin }),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

const messages = [
  { role: "system" as const, content: "Be brief." },
  { role: "user" as const, content: "Hello" },
];

for (const target of [...translationTargets, responsesTarget]) {
  const { provider: name, settings } = target;

  Deno.test(`OpenAI's SDK gets text of ${name}, whole`, async () => {
    await using translating = await openTranslating(
      name,
      settings,
      () => Response.json(target.text),
    );

    const completion = await translating.openai.chat.completions.create({
      model: "model-1",
      messages,
      max_tokens: 100,
    });

    const [choice] = completion.choices;
    assert.equal(choice?.message.content, "Hello there");
    assert.equal(choice?.finish_reason, "stop");
    assert.equal(completion.usage?.prompt_tokens, 14);
    assert.equal(completion.usage?.completion_tokens, 5);
    assert.equal(completion.usage?.prompt_tokens_details?.cached_tokens, 8);
    const [seen] = translating.provider.requests;
    assert.equal(seen?.target, target.path);
    assert.match(seen?.body ?? "", /Be brief\./);
  });

  Deno.test(`OpenAI's SDK gets text of ${name}, streamed`, async () => {
    await using translating = await openTranslating(
      name,
      settings,
      target.textStream,
    );

    const stream = translating.openai.chat.completions.stream({
      model: "model-1",
      messages,
      stream_options: { include_usage: true },
    });
    const completion = await stream.finalChatCompletion();

    const [choice] = completion.choices;
    assert.equal(choice?.message.content, "Hello there");
    assert.equal(choice?.finish_reason, "stop");
    assert.equal(completion.usage?.total_tokens, 19);
    const [seen] = translating.provider.requests;
    assert.equal(seen?.target, target.streamPath);
  });

  for (const how of ["whole", "streamed"] as const) {
    Deno.test(`OpenAI's SDK runs tools with ${name}, ${how}`, async () => {
      await using translating = await openTranslating(
        name,
        settings,
        ({ body }) => {
          const isAnswered = body.includes("12 degrees");
          if (how === "whole") {
            return Response.json(isAnswered ? target.text : target.call);
          }
          return isAnswered ? target.textStream() : target.callStream();
        },
      );
      const { completions } = translating.openai.chat;
      const ask = (messages: OpenAI.Chat.ChatCompletionMessageParam[]) => {
        const body = { model: "model-1", messages, tools };
        return how === "whole"
          ? completions.create(body)
          : completions.stream(body).finalChatCompletion();
      };

      const first = await ask(messages);
      const [choice] = first.choices;
      assert(choice !== undefined);
      const [call] = choice.message.tool_calls ?? [];
      assert(call?.type === "function");
      const second = await ask([...messages, choice.message, {
        role: "tool",
        tool_call_id: call.id,
        content: "12 degrees",
      }]);

      assert.equal(choice.finish_reason, "tool_calls");
      assert.equal(call.id, "t1");
      assert.equal(call.function.name, "get_weather");
      assert.deepEqual(JSON.parse(call.function.arguments), { city: "Oslo" });
      assert.equal(second.choices[0]?.message.content, "Hello there");
      const sent = translating.provider.requests[1]?.body ?? "";
      assert.match(sent, /get_weather.*12 degrees/);
    });
  }

  for (const how of ["whole", "streamed"] as const) {
    Deno.test(`OpenAI's SDK runs tools with responses of ${name}, ${how}`, async () => {
      await using translating = await openTranslating(
        name,
        settings,
        ({ body }) => {
          const isAnswered = body.includes("12 degrees");
          if (how === "whole") {
            return Response.json(isAnswered ? target.text : target.call);
          }
          return isAnswered ? target.textStream() : target.callStream();
        },
      );
      const { responses } = translating.openai;
      const ask = (input: OpenAI.Responses.ResponseInput) => {
        const body = {
          model: "model-1",
          instructions: "Be brief.",
          input,
          tools: [{
            ...{ type: "function" as const, name: "get_weather" },
            ...{ parameters: { type: "object" }, strict: true },
          }],
        };
        return how === "whole"
          ? responses.create(body)
          : responses.stream(body).finalResponse();
      };

      const user = { role: "user" as const, content: "Hello" };
      const first = await ask([user]);
      const call = first.output.find(({ type }) => type === "function_call");
      assert(call?.type === "function_call");
      const second = await ask([user, call, {
        type: "function_call_output",
        call_id: call.call_id,
        output: "12 degrees",
      }]);

      assert.equal(first.status, "completed");
      assert.deepEqual(JSON.parse(call.arguments), { city: "Oslo" });
      assert.equal(second.output_text, "Hello there");
      assert.equal(second.usage?.input_tokens, 14);
      assert.equal(second.usage?.input_tokens_details.cached_tokens, 8);
    });
  }

  if (name !== "Gemini") {
    Deno.test(`Google's SDK uses ${name}, whole and streamed`, async () => {
      await using translating = await openTranslating(
        name,
        settings,
        ({ target: path, body }) =>
          path.includes("stream") || body.includes('"stream":true')
            ? target.callStream()
            : Response.json(target.text),
      );
      const google = new GoogleGenAI({
        apiKey: "client-key",
        httpOptions: { baseUrl: new URL(translating.openai.baseURL).origin },
      });
      const prompt = { model: "model-1", contents: "Hello" };

      const whole = await google.models.generateContent(prompt);
      const chunks = await Array.fromAsync(
        await google.models.generateContentStream(prompt),
      );

      assert.equal(whole.text, "Hello there");
      assert.equal(whole.usageMetadata?.promptTokenCount, 14);
      const [call] = chunks.flatMap(({ functionCalls = [] }) => functionCalls);
      assert.deepEqual([call?.name, call?.args], ["get_weather", {
        city: "Oslo",
      }]);
    });
  }

  if (name === "Anthropic") continue;

  for (const how of ["whole", "streamed"] as const) {
    Deno.test(`Anthropic's SDK uses ${name}, ${how}`, async () => {
      await using translating = await openTranslating(
        name,
        settings,
        ({ body }) => {
          const isAnswered = body.includes("12 degrees");
          if (how === "whole") {
            return Response.json(isAnswered ? target.text : target.call);
          }
          return isAnswered ? target.textStream() : target.callStream();
        },
      );
      const ask = (messages: Anthropic.MessageParam[]) => {
        const body = {
          model: "model-1",
          max_tokens: 100,
          system: "Be brief.",
          messages,
          tools: [{
            name: "get_weather",
            input_schema: { type: "object" as const },
          }],
        };
        return how === "whole"
          ? translating.anthropic.messages.create(body)
          : translating.anthropic.messages.stream(body).finalMessage();
      };

      const user = { role: "user" as const, content: "Hello" };
      const first = await ask([user]);
      const call = first.content.find(({ type }) => type === "tool_use");
      assert(call?.type === "tool_use");
      const second = await ask([
        user,
        { role: "assistant", content: first.content },
        {
          role: "user",
          content: [{
            type: "tool_result",
            tool_use_id: call.id,
            content: "12 degrees",
          }],
        },
      ]);

      assert.equal(first.stop_reason, "tool_use");
      assert.deepEqual(call.input, { city: "Oslo" });
      assert.equal(second.stop_reason, "end_turn");
      const text = second.content.at(-1);
      assert(text?.type === "text");
      assert.equal(text.text, "Hello there");
      assert.equal(second.usage.output_tokens, 5);
      assert.equal(second.usage.cache_read_input_tokens, 8);
    });
  }
}

const completion = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "gpt",
  choices: [{
    index: 0,
    finish_reason: "stop",
    message: { role: "assistant", content: "Hello there", refusal: null },
  }],
  usage: {
    prompt_tokens: 14,
    completion_tokens: 5,
    total_tokens: 19,
    prompt_tokens_details: { cached_tokens: 8 },
  },
};

for (
  const [name, settings, path, limit] of [
    ["OpenAI", {}, "/v1/chat/completions", "max_completion_tokens"],
    ["OpenAICompatible", {}, "/v1/chat/completions", "max_tokens"],
  ] as const
) {
  Deno.test(`Anthropic's SDK uses ${name}`, async () => {
    await using translating = await openTranslating(
      name,
      settings,
      () => Response.json(completion),
    );

    const message = await translating.anthropic.messages.create({
      model: "gpt",
      max_tokens: 50,
      messages: [{ role: "user", content: "Hello" }],
    });

    assert.deepEqual(message.content, [{ type: "text", text: "Hello there" }]);
    assert.equal(message.usage.input_tokens, 6);
    assert.equal(message.usage.cache_read_input_tokens, 8);
    const [seen] = translating.provider.requests;
    assert.equal(seen?.target, path);
    assert.deepEqual(JSON.parse(seen?.body ?? ""), {
      model: "gpt",
      messages: [{ role: "user", content: "Hello" }],
      [limit]: 50,
    });
  });
}

Deno.test("OpenAI's SDK uses responses of a server that has chats alone", async () => {
  await using translating = await openTranslating(
    "OpenAICompatible",
    {},
    ({ target }) =>
      target.endsWith("/chat/completions")
        ? Response.json(completion)
        : Response.json({ error: { message: "not found" } }, { status: 404 }),
  );
  const ask = () =>
    translating.openai.responses.create({ model: "qwen", input: "Hello" });

  const first = await ask();
  const second = await ask();

  assert.equal(first.output_text, "Hello there");
  assert.equal(second.output_text, "Hello there");
  assert.deepEqual(
    translating.provider.requests.map(({ target }) => target),
    ["/v1/responses", "/v1/chat/completions", "/v1/chat/completions"],
  );
});

Deno.test("Anthropic's SDK streams from OpenAI", async () => {
  const chunk = (delta: unknown, reason: string | null = null) => ({
    ...{ id: "chatcmpl-1", object: "chat.completion.chunk", model: "gpt" },
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  await using translating = await openTranslating(
    "OpenAI",
    {},
    () =>
      eventStream([
        chunk({ role: "assistant", content: "" }),
        chunk({ content: "Hello" }),
        chunk({
          tool_calls: [{
            index: 0,
            id: "t1",
            type: "function",
            function: { name: "get_weather", arguments: "" },
          }],
        }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: "{}" } }] }),
        chunk({}, "tool_calls"),
        { ...chunk({}), choices: [], usage: completion.usage },
      ]),
  );

  const message = await translating.anthropic.messages.stream({
    model: "gpt",
    max_tokens: 50,
    messages: [{ role: "user", content: "Hello" }],
  }).finalMessage();

  assert.deepEqual(message.content, [
    { type: "text", text: "Hello" },
    { type: "tool_use", id: "t1", name: "get_weather", input: {} },
  ]);
  assert.equal(message.stop_reason, "tool_use");
  assert.equal(message.usage.output_tokens, 5);
});

Deno.test("OpenAI's SDK gets JSON in a format from Anthropic", async () => {
  await using translating = await openTranslating(
    "Anthropic",
    {},
    () =>
      Response.json(anthropicMessage([{
        ...{ type: "tool_use", id: "t1", name: "answer_as_json" },
        input: { a: 1 },
      }], "tool_use")),
  );

  const { choices: [choice] } = await translating.openai.chat.completions
    .create({
      model: "claude",
      messages,
      response_format: { type: "json_object" },
    });

  assert.equal(choice?.message.content, '{"a":1}');
  assert.equal(choice?.finish_reason, "stop");
  assert.equal(choice?.message.tool_calls, undefined);
});

for (
  const [name, settings, body, status, expected] of [
    [
      "Anthropic",
      {},
      {
        type: "error",
        error: { type: "overloaded_error", message: "Overloaded" },
      },
      529,
      [503, "Overloaded"],
    ],
    [
      "Gemini",
      {},
      {
        error: { code: 400, message: "Bad schema", status: "INVALID_ARGUMENT" },
      },
      400,
      [400, "Bad schema"],
    ],
    ["Bedrock", { region: "us-east-1" }, { message: "Too many tokens" }, 429, [
      429,
      "Too many tokens",
    ]],
  ] as const
) {
  Deno.test(`OpenAI's SDK gets errors of ${name} in its own form`, async () => {
    await using translating = await openTranslating(
      name,
      settings,
      () => Response.json(body, { status }),
    );

    const failing = translating.openai.chat.completions.create({
      model: "m",
      messages,
    });

    await assert.rejects(failing, (error) => {
      assert(error instanceof OpenAI.APIError);
      assert.equal(error.status, expected[0]);
      assert.ok(error.message.includes(expected[1]), error.message);
      return true;
    });
  });
}

Deno.test("OpenAI's SDK gets an error in the middle of a stream", async () => {
  await using translating = await openTranslating(
    "Anthropic",
    {},
    () =>
      eventStream([anthropicStart, {
        type: "error",
        error: { type: "overloaded_error", message: "Overloaded" },
      }]),
  );

  const stream = await translating.openai.chat.completions.create({
    model: "m",
    messages,
    stream: true,
  });

  await assert.rejects(Array.fromAsync(stream), /Overloaded/);
});

Deno.test("OpenAI's SDK learns which field has no counterpart", async () => {
  await using translating = await openTranslating(
    "Anthropic",
    {},
    () => Response.json({}),
  );

  const failing = translating.openai.chat.completions.create({
    model: "m",
    messages,
    logit_bias: { 5: 1 },
  });

  await assert.rejects(failing, (error) => {
    assert(error instanceof OpenAI.BadRequestError);
    assert.equal(error.code, "llm_request_invalid");
    assert.match(error.message, /"logit_bias" has no counterpart/);
    return true;
  });
  assert.deepEqual(translating.provider.requests, []);
});

const geminiPrompt = { model: "gemini-2.5-flash", contents: "Hello" };

Deno.test("Google's SDK gets the same through the gateway as directly", async () => {
  const answer = geminiAnswer([{ text: "Hello there" }], "STOP");
  await using translating = await openTranslating(
    "Gemini",
    {},
    ({ target }) =>
      target.includes("stream") ? eventStream([answer]) : Response.json(answer),
  );
  const { provider, openai } = translating;
  const results = [];
  for (
    const baseUrl of [`http://${provider.host}`, new URL(openai.baseURL).origin]
  ) {
    const google = new GoogleGenAI({
      apiKey: "client-key",
      httpOptions: { baseUrl },
    });
    const whole = await google.models.generateContent(geminiPrompt);
    const chunks = await google.models.generateContentStream(geminiPrompt);
    const texts = await Array.fromAsync(chunks, ({ text }) => text);
    results.push([whole.text, whole.usageMetadata, texts]);
  }

  assert.deepEqual(results[1], results[0]);
  const keys = provider.requests.map(({ headers }) =>
    headers.get("x-goog-api-key")
  );
  assert.deepEqual(keys, [
    ...["client-key", "client-key"],
    ...["provider-key", "provider-key"],
  ]);
});

for (const target of translationTargets) {
  const { provider: name, settings } = target;

  Deno.test(`a budget is charged what ${name} reports for a translated stream`, async () => {
    await using provider = startProvider(target.textStream);
    await using gateway = await startTestGateway({
      routes: [{
        name: "llm",
        policies: { rateLimit: { local: [{ tokens: 100, unit: "Hours" }] } },
        backends: [{
          llm: {
            ...{ provider: name, host: provider.host, plainText: true },
            ...settings,
          },
        }],
      }],
    });

    const request = () =>
      fetch(`${gateway.origin}/v1/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ model: "m", messages, stream: true }),
      });
    const first = await (await request()).text();
    const second = await request();
    await second.body?.cancel();

    assert.doesNotMatch(first, /"usage":\{/);
    assert.equal(second.headers.get("x-ratelimit-remaining"), "81");
  });
}

Deno.test("a client of OpenAI's gets the answer of Anthropic while OpenAI is limited", async () => {
  await using limited = startProvider(() =>
    Response.json({ error: { message: "slow down" } }, { status: 429 })
  );
  await using other = startProvider(() =>
    Response.json(translationTargets[0]?.text)
  );
  const backend = (provider: string, { host }: ProviderServer, more = {}) => ({
    llm: { provider, host, plainText: true, ...more },
  });
  await using gateway = await startTestGateway({
    routes: [{
      name: "llm",
      backends: [
        { priority: 0, ...backend("OpenAI", limited) },
        {
          priority: 1,
          ...backend("Anthropic", other, { aliases: { gpt: "claude" } }),
        },
      ],
    }],
  });
  const openai = new OpenAI({
    apiKey: "client-key",
    maxRetries: 0,
    baseURL: `${gateway.origin}/v1`,
  });

  const { choices: [choice] } = await openai.chat.completions.create({
    model: "gpt",
    messages,
  });

  assert.equal(choice?.message.content, "Hello there");
  assert.equal(limited.requests.length, 1);
  const sent = JSON.parse(other.requests[0]?.body ?? "{}");
  assert.equal(sent.model, "claude");
  assert.equal(other.requests[0]?.target, "/v1/messages");
  assert.match(
    gateway.accessLog.join(""),
    /http\.status=200 .*reason=upstream/,
  );
});
