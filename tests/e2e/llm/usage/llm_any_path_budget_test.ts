/** Budgets of tokens on backends with a `host`: the response decides, however its path is written. */
import assert from "node:assert/strict";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { HeldUpstream, until } from "../../../harness/servers/held_upstream.ts";
import { BUDGET, openTokenBudget } from "../../../harness/llm/token_budget.ts";
import {
  bytesOf,
  estimatedInput,
  events,
  json,
  sse,
} from "../../../unit/llm/llm_responses.ts";

function chunk(content: string) {
  return {
    object: "chat.completion.chunk",
    model: "m",
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  };
}

const words = Array.from({ length: 50 }, (_, i) => chunk(`word${i} `));
const question = '{"model":"m","stream":true,"messages":[{"content":"Hi"}]}';
const usage = { prompt_tokens: 20, completion_tokens: 5 };

function ask(origin: string, path: string, init: RequestInit = {}) {
  return fetch(origin + path, {
    method: "POST",
    headers: { "content-type": json },
    body: question,
    ...init,
  });
}

for (
  const path of [
    "/v1/chat%2Fcompletions",
    "/v1%2fchat/completions",
    "/v1/chat%252Fcompletions",
    "/v1//chat;a/completions",
  ]
) {
  Deno.test(`a stream at ${path} reports its usage and is charged`, async () => {
    await using limited = await openTokenBudget(({ body }) => ({
      contentType: sse,
      body: bytesOf(events(
        ...words,
        ...body.includes("include_usage") ? [{ choices: [], usage }] : [],
      )),
    }));

    await (await ask(limited.origin, path)).text();

    assert.equal(await limited.charged(25), 25);
    assert.match(
      limited.upstream.requests[0]?.url ?? "",
      new RegExp(path, "i"),
    );
  });
}

const candidates = [{ content: { role: "model", parts: [{ text: "Hi" }] } }];
for (
  const [what, contentType, body] of [
    ["a stream of chunks", sse, events(...words)],
    ["a stream that begins with comments", sse, `: hi\n\n${events(...words)}`],
    ["a stream without its type", "text/plain", events(...words)],
    ["a chat", json, JSON.stringify({ choices: [{ message: { role: "a" } }] })],
    ["a chat as text", "text/plain", ` {"choices":[{"finish_reason":"stop"}]}`],
    ["an answer of Gemini", json, JSON.stringify({ candidates })],
    ["messages", json, '{"content":[],"stop_reason":"end_turn"}'],
    [
      "a stream of messages",
      sse,
      events({ type: "ping" }, { type: "message_start", message: {} }),
    ],
  ] as const
) {
  Deno.test(`${what} without usage is estimated at a path of no known API`, async () => {
    await using limited = await openTokenBudget({
      contentType,
      body: bytesOf(body),
    });

    await (await ask(limited.origin, "/ask")).text();
    await limited.finished(1);

    assert.equal(await limited.answers("estimated"), 1);
    const { headers } = await fetchRaw(`${limited.origin}/probe`);
    const charged = BUDGET - Number(headers["x-ratelimit-remaining"]);
    assert.ok(charged >= estimatedInput(question), `${charged}`);
  });
}

for (
  const [what, contentType, body] of [
    [
      "a quiz",
      json,
      '{"choices":[{"text":"yes"}],"candidates":[{"name":"x"}]}',
    ],
    ["a page", json, '{"content":[{"id":1}],"object":"page","type":"list"}'],
    ["messages of MCP", sse, events({ jsonrpc: "2.0", id: 1, result: {} })],
    ["moderation", json, '{"id":"modr-1","model":"m","results":[{}]}'],
    ["bytes", "application/octet-stream", "x".repeat(500)],
  ] as const
) {
  Deno.test(`${what} at a path of no known API is not charged`, async () => {
    await using limited = await openTokenBudget({
      contentType,
      body: bytesOf(body),
    });

    await (await ask(limited.origin, "/ask")).text();
    await limited.finished(1);

    assert.equal(await limited.charged(0), 0);
  });
}

for (const path of ["/ask", "/v1beta/models/e:embedContent"]) {
  for (const sendsHead of [true, false]) {
    const when = sendsHead ? "the response has begun" : "nothing has arrived";
    Deno.test(`a client that leaves ${path} when ${when} is charged what the provider reports`, async () => {
      await using upstream = await HeldUpstream.start();
      await using gateway = await startTestGateway({
        config: { workers: 1 },
        routes: [{
          name: "llm",
          backends: upstream.backends,
          policies: { rateLimit: { local: [{ tokens: 1000, unit: "Days" }] } },
        }],
      });
      const leaving = new AbortController();
      const { signal } = leaving;
      const asking = ask(gateway.origin, path, { signal });
      await until(() => upstream.waiting.length === 1);
      const [answer] = upstream.waiting.splice(0);
      const begin = () => {
        answer?.writeHead(200, { "content-type": json });
        answer?.write('{"model":"m",');
      };
      if (sendsHead) {
        begin();
        await (await asking).body?.getReader().read();
        leaving.abort();
      } else {
        leaving.abort();
        await assert.rejects(asking);
        begin();
      }
      answer?.end(`"usage":${JSON.stringify(usage)}}`);

      await until(async () => {
        const { headers } = await fetchRaw(`${gateway.origin}/probe`);
        return headers["x-ratelimit-remaining"] === "975";
      });
    });
  }
}

Deno.test("with onDisconnect: Estimate, a client that leaves a path of no known API is charged an estimate", async () => {
  await using limited = await openTokenBudget({
    contentType: sse,
    body: bytesOf(events(...words)),
    hangs: true,
  });
  const leaving = new AbortController();
  const { signal } = leaving;
  const response = await ask(limited.origin, "/ask", { signal });
  await response.body?.getReader().read();
  leaving.abort();
  await limited.finished(1);

  assert.equal(await limited.answers("estimated"), 1);
});

Deno.test("usage in a response that claims to be text is charged", async () => {
  await using limited = await openTokenBudget({
    contentType: "text/plain",
    body: bytesOf(JSON.stringify({ usage })),
  });
  await (await ask(limited.origin, "/ask")).text();

  assert.equal(await limited.charged(25), 25);
});

Deno.test("an embedding of Gemini without usage is charged its input", async () => {
  await using limited = await openTokenBudget({
    contentType: json,
    body: bytesOf(JSON.stringify({ embedding: { values: [0.5, 0.25] } })),
  });
  const path = "/v1beta/models/e:batchEmbedContents";
  await (await ask(limited.origin, path)).text();

  const expected = estimatedInput(question);
  assert.equal(await limited.charged(expected), expected);
});

Deno.test("a provider gets nothing that would take the usage out of the response", async () => {
  await using limited = await openTokenBudget({
    contentType: json,
    body: bytesOf(JSON.stringify({ usageMetadata: { totalTokenCount: 700 } })),
  });
  const path = "/v1beta/models/g:generateContent";
  const query = "?alt=json&fields=candidates&%66ields=a&%24fields=b";

  await (await ask(limited.origin, path + query, {
    headers: {
      "content-type": json,
      "x-goog-fieldmask": "candidates",
      "x-http-method-override": "GET",
      range: "bytes=0-9",
      "if-range": '"a"',
      "accept-encoding": "dcb, gzip;q=0.5, *",
    },
  })).text();

  assert.equal(await limited.charged(700), 700);
  const [seen] = limited.upstream.requests;
  assert.equal(seen?.url, `${path}?alt=json`);
  assert.equal(seen?.headers["accept-encoding"], "gzip;q=0.5");
  for (
    const name of [
      "x-goog-fieldmask",
      "x-http-method-override",
      "range",
      "if-range",
    ]
  ) assert.equal(seen?.headers[name], undefined, name);
});

Deno.test("a budget that reserves holds what a request to a path of no known API may use", async () => {
  await using limited = await openTokenBudget({
    contentType: json,
    body: bytesOf("{}"),
  }, {
    rateLimit: { local: [{ tokens: 1000, unit: "Hours", reserve: true }] },
  });

  const response = await ask(limited.origin, "/ask");
  await response.body?.cancel();

  assert.equal(response.status, 429);
  assert.equal(response.headers.get("x-should-retry"), "false");
});
