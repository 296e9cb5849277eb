import assert from "node:assert/strict";
import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { NodeUpstream } from "../../../harness/servers/node_upstreams.ts";
import { openTokenBudget } from "../../../harness/llm/token_budget.ts";
import {
  bytesOf,
  estimatedInput,
  events,
  json,
  sse,
} from "../../../unit/llm/llm_responses.ts";

const question = JSON.stringify({ messages: [{ content: "a".repeat(400) }] });
const asked = estimatedInput(question);
const whole = bytesOf('{"usage":{"prompt_tokens":20,"completion_tokens":5}}');
const opaque = new Uint8Array(400).fill(7);
const chat = "/v1/chat/completions";

/** A provider that answers POST with those bytes and headers. */
async function startProvider(
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly server: NodeUpstream; readonly host: string }> {
  const server = createServer((request, response) => {
    request.resume().once("end", () => {
      if (request.method === "POST") response.writeHead(200, headers);
      response.end(request.method === "POST" ? body : "{}");
    });
  });
  const upstream = new NodeUpstream(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return { server: upstream, host: `127.0.0.1:${port}` };
}

const protobuf = { "content-type": "application/x-protobuf" };
const dictionary = { "content-type": json, "content-encoding": "dcb" };
const twice = { "content-type": json, "content-encoding": "gzip, gzip" };
const gzippedTwice = new Uint8Array(gzipSync(gzipSync(whole)));

for (
  const [what, path, body, headers, expected] of [
    ["JSON without a type", chat, whole, {}, 25],
    ["JSON as text", chat, whole, { "content-type": "text/plain" }, 25],
    [
      ...["another format", "/v1beta/models/g:generateContent?alt=proto"],
      ...[opaque, protobuf, asked + 134] as const,
    ],
    ["an unknown coding", chat, opaque, dictionary, asked + 134],
    ["two codings", chat, gzippedTwice, twice, 25],
    ["numbers of an embedding", "/v1/embeddings", opaque, protobuf, asked],
    ["what is no LLM's", "/v1/moderations", opaque, protobuf, 0],
  ] as const
) {
  Deno.test(`${what} is charged ${expected} tokens`, async () => {
    const { server, host } = await startProvider(body, headers);
    await using _server = server;
    await using limited = await openTokenBudget({ contentType: json, body }, {
      route: { backends: [{ host }] },
    });

    const { bytes } = await fetchRaw(limited.origin + path, {
      method: "POST",
      body: question,
    });

    assert.deepEqual(new Uint8Array(bytes), body);
    assert.equal(await limited.charged(expected), expected);
  });
}

const usage = { prompt_tokens: 20, completion_tokens: 5 };
for (const path of [`${chat}/`, "/V1/Chat/Completions", `${chat};a=b`]) {
  Deno.test(`a streamed chat at ${path} requests usage and is charged`, async () => {
    await using limited = await openTokenBudget(({ body }) => {
      const told = body.includes('"include_usage":true')
        ? [{ choices: [], usage }]
        : [];
      const chunks = [{ choices: [{ delta: { content: "Hi" } }] }, ...told];
      return { contentType: sse, body: bytesOf(events(...chunks)) };
    });

    const response = await fetch(limited.origin + path, {
      method: "POST",
      body: '{"stream":true,"messages":[]}',
    });

    assert.doesNotMatch(await response.text(), /usage/);
    assert.equal(await limited.charged(25), 25);
  });
}
