import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import type { LlmAnswer } from "../../../harness/llm/llm_upstream.ts";
import { openTokenBudget } from "../../../harness/llm/token_budget.ts";
import {
  bytesOf,
  estimatedInput,
  events,
  sse,
} from "../../../unit/llm/llm_responses.ts";

const chat = "/v1/chat/completions";
const text = { choices: [{ delta: { content: "a".repeat(600) } }] };
const usage = { prompt_tokens: 120, completion_tokens: 50_000 };
const plain = events(text);

/** Reasons for 50,000 tokens, and reports that when asked, as OpenAI does. */
function reasoning({ body }: { readonly body: string }): LlmAnswer {
  const asked = body.includes('"include_usage":true');
  const told = asked ? events(text, { choices: [], usage }) : plain;
  return { contentType: sse, body: bytesOf(told) };
}

const streamed = '{"stream":true,"messages":[]}';
const gzipped = new Uint8Array(gzipSync(streamed));

for (
  const [what, headers, body] of [
    ["digest", { digest: "sha-256=x" }, streamed],
    ["content-digest", { "content-digest": "sha-256=:x:" }, streamed],
    ["content-md5", { "content-md5": "x" }, streamed],
    ["signature", { signature: "x" }, streamed],
    ["content-encoding: identity", {
      "content-encoding": "identity",
    }, streamed],
    ["content-encoding: gzip", { "content-encoding": "gzip" }, gzipped],
  ] as const
) {
  Deno.test(`a streamed chat with ${what} requests usage and is charged for hidden reasoning`, async () => {
    await using limited = await openTokenBudget(reasoning);

    const response = await fetch(limited.origin + chat, {
      method: "POST",
      headers,
      body,
    });

    const [seen] = limited.upstream.requests;
    assert.equal(await response.text(), plain);
    assert.equal(
      seen?.body,
      streamed.replace("{", '{"stream_options":{"include_usage":true},'),
    );
    for (const name of ["digest", "content-md5", "content-encoding"]) {
      assert.equal(seen?.headers[name], undefined);
    }
    assert.equal(await limited.charged(50_120), 50_120);
  });
}

const aws = { authorization: "AWS4-HMAC-SHA256 x" };
for (
  const [what, headers, body, output] of [
    ["signed for AWS, with max_tokens", aws, limit('"max_tokens":9000'), 9000],
    [
      "signed for AWS, with a limit and two choices",
      aws,
      limit('"max_completion_tokens":"9000","n":2'),
      18_000,
    ],
    ["signed for AWS, without a limit", aws, streamed, 65_536],
    [
      "signed with its digest",
      { "signature-input": 's=("content-digest");keyid="k"' },
      streamed,
      65_536,
    ],
    [
      "read in different ways by servers",
      {},
      '{"model":"a","model":"b",' + streamed.slice(1),
      65_536,
    ],
  ] as const
) {
  Deno.test(`a streamed chat that is ${what} goes on as it is, and is charged at least ${output} tokens`, async () => {
    await using limited = await openTokenBudget(reasoning, {
      config: { config: { limits: { maxLlmBodyBytes: 1024 } } },
    });

    const response = await fetch(limited.origin + chat, {
      method: "POST",
      headers,
      body,
    });

    const expected = estimatedInput(body) + output;
    assert.equal(await response.text(), plain);
    assert.equal(limited.upstream.requests[0]?.body, body);
    assert.equal(await limited.charged(expected), expected);
  });
}

Deno.test("a request in an unknown coding, which a budget cannot measure, is 415", async () => {
  await using limited = await openTokenBudget(reasoning, {});
  const response = await fetch(limited.origin + chat, {
    method: "POST",
    headers: { "content-encoding": "dcb" },
    body: streamed,
  });

  assert.equal(response.status, 415);
  assert.equal(
    response.headers.get("x-gateway-error"),
    "unsupported_media_type",
  );
  await response.body?.cancel();
  assert.equal(limited.upstream.requests.length, 0);
});

Deno.test("a signed chat that is not streamed is charged what it reports", async () => {
  await using limited = await openTokenBudget({
    contentType: "application/json",
    body: bytesOf(JSON.stringify({ usage })),
  });

  const response = await fetch(limited.origin + chat, {
    method: "POST",
    headers: aws,
    body: '{"messages":[]}',
  });

  assert.equal(response.status, 200);
  await response.body?.cancel();
  assert.equal(await limited.charged(50_120), 50_120);
});

Deno.test("a compressed request is estimated by what it holds", async () => {
  const body = JSON.stringify({ prompt: "a ".repeat(400_000) });
  const tokens = estimatedInput(body) + 1;
  await using limited = await openTokenBudget({
    contentType: "application/json",
    body: bytesOf("{}"),
  });

  const response = await fetch(`${limited.origin}/v1/messages`, {
    method: "POST",
    headers: { "content-encoding": "gzip" },
    body: new Uint8Array(gzipSync(body)),
  });

  assert.equal(response.status, 200);
  await response.body?.cancel();
  assert.equal(
    limited.upstream.requests[0]?.headers["content-encoding"],
    "gzip",
  );
  assert.equal(await limited.charged(tokens), tokens);
});

function limit(fields: string): string {
  return streamed.replace("[]", `[],${fields}`);
}
