import assert from "node:assert/strict";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import {
  type LlmAnswer,
  LlmUpstream,
} from "../../../harness/llm/llm_upstream.ts";
import {
  openTokenBudget,
  type TokenBudget,
} from "../../../harness/llm/token_budget.ts";
import {
  bytesOf,
  estimatedInput,
  events,
  json,
  namedEvents,
  sse,
} from "../../../unit/llm/llm_responses.ts";

const question = "a".repeat(400);
const body = JSON.stringify({
  stream: true,
  messages: [{ content: question }],
});
const asked = estimatedInput(body);
/** By a model of the response, of which more is known. */
const askedOfGpt = estimatedInput(body);

const text = "word ".repeat(20);
const chatStart: LlmAnswer = {
  contentType: sse,
  body: bytesOf(
    events({ model: "gpt", choices: [{ delta: { content: text } }] }),
  ),
};
const anthropicStart: LlmAnswer = {
  contentType: sse,
  body: bytesOf(namedEvents(
    {
      type: "message_start",
      ...{
        message: { model: "c", usage: { input_tokens: 70, output_tokens: 1 } },
      },
    },
    { type: "content_block_delta", ...{ delta: { text } } },
  )),
};
const stated: LlmAnswer = {
  contentType: json,
  body: bytesOf('{"usage":{"prompt_tokens":20,"completion_tokens":5}}'),
};

function post(limited: TokenBudget, path: string, signal?: AbortSignal) {
  return fetch(limited.origin + path, {
    method: "POST",
    headers: { "content-type": json },
    body,
    ...(signal && { signal }),
  });
}

/** Reads the first bytes of an answer and leaves. */
async function leaveEarly(limited: TokenBudget, path: string): Promise<void> {
  const leaving = new AbortController();
  const response = await post(limited, path, leaving.signal);
  await response.body?.getReader().read();
  leaving.abort();
}

async function answersOf(limited: TokenBudget): Promise<string> {
  await limited.gateway.gateway.stop(1000);
  return limited.gateway.accessLog.filter((line) => line.includes("POST"))
    .join("");
}

for (const coding of [undefined, "gzip", "br", "zstd"] as const) {
  const how = coding === undefined ? "" : ` in ${coding}`;
  Deno.test(`a client that disconnects in the middle of a response${how} is charged an estimate of request and response`, async () => {
    const answer = { ...chatStart, hangs: true, ...(coding && { coding }) };
    await using limited = await openTokenBudget(answer);

    await leaveEarly(limited, "/v1/chat/completions");

    const expected = askedOfGpt + Math.ceil(text.length / 3);
    assert.equal(await limited.charged(expected), expected);
    assert.equal(await limited.answers("estimated"), 1);
    assert.equal(await limited.answers("reported"), 0);
    assert.match(await answersOf(limited), /gen_ai\.usage\.estimated=true/);
  });
}

Deno.test("a client that disconnects is charged the reported tokens and an estimate of the rest", async () => {
  await using limited = await openTokenBudget({
    ...anthropicStart,
    hangs: true,
  });

  await leaveEarly(limited, "/v1/messages");

  const expected = 70 + 1 + Math.ceil(text.length / 3);
  assert.equal(await limited.charged(expected), expected);
});

Deno.test("a client that disconnects after the report of the usage is charged exactly", async () => {
  const done = events({ type: "message_delta", usage: { output_tokens: 33 } });
  await using limited = await openTokenBudget({
    ...anthropicStart,
    body: bytesOf(new TextDecoder().decode(anthropicStart.body) + done),
    hangs: true,
  });

  await leaveEarly(limited, "/v1/messages");

  assert.equal(await limited.charged(103), 103);
  assert.equal(await limited.answers("estimated"), 0);
  assert.equal(await limited.answers("reported"), 1);
  assert.doesNotMatch(await answersOf(limited), /estimated/);
});

Deno.test("a client that disconnects before a response is charged the request", async () => {
  const arrived = Promise.withResolvers<void>();
  await using limited = await openTokenBudget(() => {
    arrived.resolve();
    return { ...stated, isSilent: true };
  });
  const leaving = new AbortController();
  const call = post(limited, "/v1/messages", leaving.signal);

  await arrived.promise;
  leaving.abort();

  await assert.rejects(call);
  assert.equal(await limited.charged(asked), asked);
});

Deno.test("a response that the provider breaks off is charged by estimate", async () => {
  await using limited = await openTokenBudget({ ...chatStart, breaks: true });

  await assert.rejects(async () =>
    await (await post(limited, "/v1/chat/completions")).text()
  );

  const expected = askedOfGpt + Math.ceil(text.length / 3);
  assert.equal(await limited.charged(expected), expected);
});

Deno.test("a response without usage is charged by estimate", async () => {
  const answer = JSON.stringify({ content: text, usage: null });
  await using limited = await openTokenBudget({
    contentType: json,
    body: bytesOf(answer),
  });

  await (await post(limited, "/v1/messages")).text();

  const expected = asked + Math.ceil(answer.length / 3);
  assert.equal(await limited.charged(expected), expected);
});

for (
  const [what, path, answer] of [
    ["a refusal", "/v1/messages", { ...stated, status: 400 }],
    ["an overload", "/v1/messages", { ...stated, status: 529 }],
    ["JSON without usage from elsewhere", "/orders", {
      contentType: json,
      body: bytesOf('{"id":1,"usage":"private"}'),
    }],
    ["a text from elsewhere", "/orders", {
      contentType: "text/plain",
      body: bytesOf('usage: {"prompt_tokens":20}'),
    }],
  ] as const
) {
  Deno.test(`${what} costs no tokens`, async () => {
    await using limited = await openTokenBudget(answer);

    await (await post(limited, path)).text();
    await limited.finished(1);

    assert.equal(await limited.charged(0), 0);
    assert.equal(await limited.answers("estimated"), 0);
    assert.equal(await limited.answers("reported"), 0);
    assert.doesNotMatch(
      await answersOf(limited),
      /input_tokens|usage_source="(?:reported|estimated)"/,
    );
  });
}

Deno.test("a client that disconnects from a stream without an LLM is charged nothing", async () => {
  await using limited = await openTokenBudget({
    contentType: sse,
    body: bytesOf(events({ jsonrpc: "2.0", id: 1, result: { text } })),
    hangs: true,
  });

  await leaveEarly(limited, "/mcp");
  await limited.finished(1);

  assert.equal(await limited.charged(0), 0);
  assert.doesNotMatch(await answersOf(limited), /input_tokens/);
});

for (const method of ["PUT", "PATCH"]) {
  Deno.test(`the usage in the response to a ${method} is not charged`, async () => {
    await using limited = await openTokenBudget(stated);
    const url = `${limited.origin}/v1/responses`;

    await (await fetch(url, { method, body })).text();
    await (await post(limited, "/v1/responses")).text();

    assert.equal(await limited.charged(25), 25);
  });
}

Deno.test("an LLM at an unknown path is charged as it reports", async () => {
  await using limited = await openTokenBudget(stated);

  await (await post(limited, "/ask")).text();

  assert.equal(await limited.charged(25), 25);
});

Deno.test("a request that is retried is charged once", async () => {
  const answer = (_: unknown, index: number) =>
    index === 0 ? { ...stated, status: 503 } : stated;
  await using limited = await openTokenBudget(answer, {
    route: { retry: { attempts: 2, codes: [503], backoff: "1ms" } },
  });

  const response = await post(limited, "/v1/messages");
  await response.text();

  assert.equal(response.status, 200);
  assert.equal(limited.upstream.requests.length, 2);
  assert.equal(await limited.charged(25), 25);
});

Deno.test("a streamed chat that is retried requests usage each time, and is charged once", async () => {
  const usage = { prompt_tokens: 20, completion_tokens: 5 };
  const told: LlmAnswer = {
    contentType: sse,
    body: bytesOf(events({ choices: [{ delta: { content: text } }] }, {
      choices: [],
      usage,
    })),
  };
  await using limited = await openTokenBudget(
    (_, index) => index === 0 ? { ...stated, status: 503 } : told,
    { route: { retry: { attempts: 2, codes: [503], backoff: "1ms" } } },
  );

  const response = await post(limited, "/v1/chat/completions");

  assert.doesNotMatch(await response.text(), /usage/);
  const bodies = limited.upstream.requests.map(({ body }) => body);
  const asking = body.replace(
    '"stream":true',
    '"stream":true,"stream_options":{"include_usage":true}',
  );
  assert.deepEqual(
    bodies.map((each) => JSON.parse(each)),
    [JSON.parse(asking), JSON.parse(asking)],
  );
  assert.equal(await limited.charged(25), 25);
  assert.equal(await limited.answers("reported"), 1);
});

Deno.test("the response of a mirror is not charged, and a mirrored chat requests usage too", async () => {
  const arrived = Promise.withResolvers<string>();
  await using mirror = await LlmUpstream.start(({ body }) => {
    arrived.resolve(body);
    return stated;
  });
  const [{ host }] = mirror.backends;
  const [, port] = host.split(":");
  await using limited = await openTokenBudget(chatStart, {
    route: {
      filters: [{
        type: "RequestMirror",
        requestMirror: { backendRef: { name: "shadow" } },
      }],
    },
    config: {
      backends: [{
        name: "shadow",
        static: { host: "127.0.0.1", port: Number(port) },
      }],
    },
  });

  const response = await fetchRaw(`${limited.origin}/v1/chat/completions`, {
    method: "POST",
    body,
  });

  assert.equal(response.status, 200);
  assert.match(await arrived.promise, /"include_usage":true/);
  const expected = askedOfGpt + Math.ceil(text.length / 3);
  assert.equal(await limited.charged(expected), expected);
});
