import assert from "node:assert/strict";
import { startLlmServer } from "../../../../cli/dev/llm_server.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const messages = [{ role: "user", content: "Hi" }];
const chat = { path: "/v1/chat/completions", body: { model: "any", messages } };
const streamedChat = { path: chat.path, body: { ...chat.body, stream: true } };

function start(clock = new FakeClock()) {
  const server = startLlmServer({ clock });
  return {
    clock,
    post: (path: string, body: unknown, init: RequestInit = {}) =>
      fetch(server.origin + path, {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
        ...init,
      }),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** Payloads of the `data:` lines. */
async function readEvents(response: Response): Promise<string[]> {
  return Array.from(
    (await response.text()).matchAll(/^data: (.*)$/gm),
    ([, data]) => data ?? "",
  );
}

Deno.test("OpenAI stream ends with usage and no choices when include_usage is set", async () => {
  await using llm = start();

  const body = {
    ...streamedChat.body,
    stream_options: { include_usage: true },
  };
  const events = await readEvents(await llm.post(chat.path, body));
  const done = events.pop();
  const chunks = events.map((event) => JSON.parse(event));
  const last = chunks.pop();

  assert.equal(done, "[DONE]");
  assert.deepEqual(last.choices, []);
  assert.equal(last.usage.total_tokens, 7);
  assert.deepEqual(new Set(chunks.map(({ usage }) => usage)), new Set([null]));
  assert.equal(chunks.at(-1).choices[0].finish_reason, "stop");
});

Deno.test("OpenAI stream says nothing of usage unless asked", async () => {
  await using llm = start();

  const events = await readEvents(
    await llm.post(streamedChat.path, streamedChat.body),
  );

  assert.equal(events.pop(), "[DONE]");
  assert(events.every((event) => !event.includes("usage")));
  assert.equal(
    JSON.parse(events.at(-1) ?? "").choices[0].finish_reason,
    "stop",
  );
});

Deno.test("OpenAI usage counts whole cached blocks of long prompts", async () => {
  await using llm = start();

  const content = "word ".repeat(1100);
  const body = {
    ...chat.body,
    max_tokens: 1,
    messages: [{ role: "user", content }],
  };
  const { usage, choices } = await (await llm.post(chat.path, body)).json();

  assert.equal(usage.prompt_tokens, 1103);
  assert.equal(usage.prompt_tokens_details.cached_tokens, 1024);
  assert.equal(choices[0].finish_reason, "length");
});

Deno.test("Anthropic usage counts what lies before a cache breakpoint as read from the cache", async () => {
  await using llm = start();

  const system = [{
    type: "text",
    text: "You are kind",
    cache_control: { type: "ephemeral" },
  }];
  const body = { model: "any", max_tokens: 9, system, messages };
  const { usage } = await (await llm.post("/v1/messages", body)).json();
  const count = await (await llm.post("/v1/messages/count_tokens", body))
    .json();

  assert.equal(usage.cache_read_input_tokens, 6);
  assert.equal(usage.input_tokens, 4);
  assert.equal(usage.output_tokens, 3);
  assert.deepEqual(count, { input_tokens: 10 });
});

Deno.test("Anthropic stream names its events in order", async () => {
  await using llm = start();

  const body = { model: "any", max_tokens: 1, messages, stream: true };
  const text = await (await llm.post("/v1/messages", body)).text();

  assert.deepEqual(text.match(/(?<=^event: ).*$/gm), [
    "message_start",
    "content_block_start",
    "ping",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
});

for (
  const { path, body, message } of [
    {
      path: chat.path,
      body: "{",
      message: "We could not parse the JSON body of your request.",
    },
    {
      path: chat.path,
      body: { messages },
      message: "Missing required parameter: 'model'.",
    },
    {
      path: chat.path,
      body: { model: "any", messages: "Hi" },
      message: "Invalid type for 'messages': expected an array of objects.",
    },
    {
      path: chat.path,
      body: { ...chat.body, stream_options: { include_usage: true } },
      message:
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    },
    {
      path: "/v1/responses",
      body: { model: "any" },
      message: "Missing required parameter: 'input'.",
    },
    {
      path: "/v1/embeddings",
      body: { input: "Hi" },
      message: "Missing required parameter: 'model'.",
    },
    {
      path: "/v1/messages",
      body: "[]",
      message: "The request body is not valid JSON",
    },
    {
      path: "/v1/messages",
      body: { model: "any", messages },
      message: "max_tokens: Field required",
    },
    {
      path: "/v1/messages",
      body: { model: "any", messages, max_tokens: "ten" },
      message: "max_tokens: Input should be a positive integer",
    },
  ]
) {
  Deno.test(`LLM server rejects ${path} with ${JSON.stringify(body)}`, async () => {
    await using llm = start();

    const response = await llm.post(path, body);

    assert.equal(response.status, 400);
    const { error } = await response.json();
    assert.equal(error.type, "invalid_request_error");
    assert.equal(error.message, message);
  });
}

for (
  const { path, status, type } of [
    { path: chat.path, status: 401, type: "invalid_request_error" },
    { path: chat.path, status: 429, type: "rate_limit_error" },
    { path: chat.path, status: 503, type: "server_error" },
    { path: "/v1/messages", status: 401, type: "authentication_error" },
    { path: "/v1/messages", status: 429, type: "rate_limit_error" },
    { path: "/v1/messages", status: 500, type: "api_error" },
  ]
) {
  Deno.test(`LLM server answers ${path} with ${status} and ${type} on request`, async () => {
    await using llm = start();

    const headers = { "x-playground-status": String(status) };
    const response = await llm.post(path, chat.body, { headers });

    assert.equal(response.status, status);
    assert.equal((await response.json()).error.type, type);
  });
}

Deno.test("LLM server answers unknown paths with 404 and bad knobs with 400", async () => {
  await using llm = start();

  const lost = await llm.post("/v1/other", "{}");
  const confused = await llm.post(chat.path, chat.body, {
    headers: { "x-playground-status": "200" },
  });

  assert.equal(lost.status, 404);
  assert.equal(
    (await lost.json()).error.message,
    "Unknown request URL: POST /v1/other",
  );
  assert.equal(confused.status, 400);
  assert.equal(
    (await confused.json()).error.message,
    'Cannot read "x-playground-status": expected a whole number from 400 to 599, got 200',
  );
});

Deno.test("LLM server sends a compressed event before the next one exists", async () => {
  await using llm = start();
  const headers = {
    "accept-encoding": "gzip",
    "x-playground-event-delay-ms": "1000",
  };
  const pending = llm.post(streamedChat.path, streamedChat.body, { headers });

  await timersOf(llm.clock);
  llm.clock.advance(1000);
  const response = await pending;
  assert(response.body);
  const reader = response.body.pipeThrough(new TextDecoderStream())
    .getReader();
  const { value } = await reader.read();

  assert.equal(response.headers.get("content-encoding"), "gzip");
  assert.match(value ?? "", /^data: .*"role":"assistant".*\n\n$/);
  await reader.cancel();
});

Deno.test("LLM server breaks a stream off after as many events as asked", async () => {
  await using llm = start();

  const headers = { "x-playground-cut-after": "2" };
  const response = await llm.post(streamedChat.path, streamedChat.body, {
    headers,
  });

  await assert.rejects(response.text());
});

Deno.test("LLM server stops waiting when it is closed", async () => {
  const llm = start();
  const headers = { "x-playground-delay-ms": "1000" };
  const pending = assert.rejects(llm.post(chat.path, chat.body, { headers }));

  await timersOf(llm.clock);
  await llm[Symbol.asyncDispose]();

  await pending;
});

/** Waits until the server sleeps. */
async function timersOf(clock: FakeClock): Promise<void> {
  while (clock.pending === 0) {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

const tools = [{
  type: "function",
  function: {
    name: "add",
    parameters: {
      properties: { a: { type: "number" }, b: { type: "number" } },
    },
  },
}];
const question = { role: "user", content: "add 2 and 3" };

for (const stream of [false, true]) {
  Deno.test(`OpenAI ${stream ? "stream" : "response"} calls a tool that the question names, and then tells its result`, async () => {
    await using llm = start();
    const ask = async (messages: readonly unknown[]) => {
      const body = { model: "any", stream, tools, messages };
      const response = await llm.post(chat.path, body);
      if (!stream) return [(await response.json()).choices[0]];
      const events = (await readEvents(response)).slice(0, -1);
      return events.map((event) => {
        const { delta: message, ...choice } = JSON.parse(event).choices[0];
        return { message, ...choice };
      });
    };

    const called = await ask([question]);
    const calls = called.flatMap(({ message }) => message.tool_calls ?? []);
    const told = await ask([
      question,
      { role: "assistant", content: null, tool_calls: calls },
      { role: "tool", tool_call_id: calls[0].id, content: "5" },
    ]);

    assert.deepEqual(calls.map((call) => call.function), [
      { name: "add", arguments: '{"a":2,"b":3}' },
    ]);
    assert.equal(called.at(-1).finish_reason, "tool_calls");
    assert.equal(
      told.map(({ message }) => message.content ?? "").join(""),
      "You said: the tool returned 5",
    );
  });
}
