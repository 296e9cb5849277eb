import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { NodeUpstream } from "../../../harness/servers/node_upstreams.ts";
import { openTokenBudget } from "../../../harness/llm/token_budget.ts";
import { bytesOf, json, sse } from "../../../unit/llm/llm_responses.ts";

const usage = { prompt_tokens: 9, completion_tokens: 4991 };
const completion = {
  contentType: json,
  body: bytesOf(JSON.stringify({ model: "m", choices: [], usage })),
};
const chat = "/v1/chat/completions";

async function post(
  origin: string,
  path: string,
  body: unknown = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const response = await fetch(`${origin}${path}`, {
    method: "POST",
    headers: { "content-type": json, ...headers },
    body: JSON.stringify(body),
  });
  await response.body?.cancel();
  return response.status;
}

/** A provider that responds when `answer` is called: the first event at once, or nothing before. */
async function slowProvider(sendsHead: boolean) {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    if (request.method === "GET") return void response.end("{}");
    request.resume();
    await once(request, "end");
    if (sendsHead) {
      response.writeHead(200, { "content-type": sse });
      response.write('data: {"model":"m","choices":[{"delta":{}}]}\n\n');
    }
    asked.resolve();
    await answered;
    if (!sendsHead) response.writeHead(200, { "content-type": sse });
    response.end(
      `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`,
    );
  });
  await new Promise<void>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve())
  );
  const address = server.address();
  const port = typeof address === "object" ? address?.port ?? 0 : 0;
  return {
    upstream: new NodeUpstream(server),
    port,
    asked: asked.promise,
    answer,
  };
}

for (const sendsHead of [true, false]) {
  const when = sendsHead
    ? "in the middle of a response"
    : "before the response";
  Deno.test(`a client that leaves ${when} is charged what the provider reports afterwards`, async () => {
    const provider = await slowProvider(sendsHead);
    await using _upstream = provider.upstream;
    await using gateway = await startTestGateway({
      routes: [{
        name: "llm",
        backends: [{ host: `127.0.0.1:${provider.port}` }],
        policies: { rateLimit: { local: [{ tokens: 10_000, unit: "Hours" }] } },
      }],
    });
    const client = new AbortController();
    const asking = fetch(`${gateway.origin}${chat}`, {
      method: "POST",
      headers: { "content-type": json },
      body: '{"model":"m","stream":true,"messages":[]}',
      signal: client.signal,
    });
    await provider.asked;
    if (sendsHead) {
      const reader = (await asking).body?.getReader();
      await reader?.read();
      client.abort();
      await assert.rejects(async () => await reader?.read());
    } else {
      client.abort();
      await assert.rejects(asking);
    }
    provider.answer();

    const read = async () => {
      const { headers } = await fetchRaw(`${gateway.origin}/probe`);
      return headers["x-ratelimit-remaining"];
    };
    const giveUpAt = Date.now() + 30_000;
    while (await read() !== "5000" && Date.now() < giveUpAt) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal(await read(), "5000");
    const log = gateway.accessLog.join("");
    assert.match(log, / gen_ai\.usage\.output_tokens=4991 /);
    assert.doesNotMatch(log, /gen_ai\.usage\.estimated/);
  });
}

Deno.test("a response without usage is not charged, and log and metrics say so once per model", async () => {
  await using limited = await openTokenBudget({
    contentType: json,
    body: bytesOf('{"text":"hello"}'),
  });
  for (let i = 0; i < 2; i++) await post(limited.origin, "/v1/audio/notes");
  await limited.finished(2);

  assert.equal(await limited.charged(0), 0);
  assert.equal(await limited.answers("none"), 2);
  const { log, accessLog } = limited.gateway;
  assert.equal(log.join("").split("has no usage and is not charged").length, 2);
  assert.match(accessLog.join(""), / gen_ai\.usage\.uncounted=true /);
});

Deno.test("unknownUsage: Deny rejects what cannot be counted, before the provider gets it", async () => {
  await using limited = await openTokenBudget(completion, {
    rateLimit: { unknownUsage: "Deny" },
  });
  const signed = { signature: "x", "signature-input": 'x=("content-digest")' };
  const rejected = [
    await post(limited.origin, "/v1/batches"),
    await post(limited.origin, "/v1/responses", { background: true }),
    await post(limited.origin, chat, { stream: true }, signed),
  ];
  assert.deepEqual(rejected, [400, 400, 400]);
  assert.equal(limited.upstream.requests.length, 0);
  const socket = await fetchRaw(`${limited.origin}/v1/live`, {
    headers: { connection: "upgrade", upgrade: "websocket" },
  });
  assert.equal(socket.status, 400);
  assert.match(
    limited.gateway.accessLog.join(""),
    / reason=usage_unknown error="?The tokens of the request cannot be counted: it opens a WebSocket/,
  );

  assert.equal(await post(limited.origin, chat, { model: "m" }), 200);
  assert.equal(await limited.charged(5000), 5000);
});

Deno.test("unknownUsage: Deny rejects streams that may not be asked for their usage", async () => {
  await using limited = await openTokenBudget(completion, {
    rateLimit: { unknownUsage: "Deny", includeUsage: false },
  });
  const asking = { stream: true, stream_options: { include_usage: true } };
  assert.equal(await post(limited.origin, chat, { stream: true }), 400);
  assert.equal(await post(limited.origin, chat, asking), 200);
});

Deno.test("a model that only the body of the request names is in the log", async () => {
  await using limited = await openTokenBudget({
    contentType: json,
    body: bytesOf(JSON.stringify({ usage })),
  });
  await post(limited.origin, "/v1/embeddings", { model: "text-embed" });
  await limited.finished(1);
  assert.match(
    limited.gateway.accessLog.join(""),
    / gen_ai\.response\.model=text-embed /,
  );
});

Deno.test("embeddings of Vertex are charged, and images, which have no counts, are said to be uncounted", async () => {
  const models = "/v1/projects/p/locations/l/publishers/google/models";
  const statistics = { truncated: false, token_count: 7 };
  const predictions = [{ embeddings: { values: [0.5], statistics } }];
  await using embedding = await openTokenBudget({
    contentType: json,
    body: bytesOf(JSON.stringify({ predictions })),
  });
  const path = `${models}/text-embedding-005:predict`;
  assert.equal(await post(embedding.origin, path), 200);
  assert.equal(await embedding.charged(7), 7);
  await embedding.finished(1);
  assert.match(
    embedding.gateway.accessLog.join(""),
    / gen_ai\.response\.model=text-embedding-005 /,
  );

  const image = { bytesBase64Encoded: "A".repeat(4000) };
  await using images = await openTokenBudget({
    contentType: json,
    body: bytesOf(JSON.stringify({ predictions: [image] })),
  });
  await post(images.origin, `${models}/imagen-4:predict`);
  await images.finished(1);
  assert.equal(await images.charged(0), 0);
  assert.equal(await images.answers("none"), 1);
});

Deno.test("a response to a request that offers another protocol is charged", async () => {
  await using limited = await openTokenBudget(completion);
  const { bytes } = await fetchRaw(`${limited.origin}${chat}`, {
    method: "POST",
    headers: {
      connection: "upgrade",
      upgrade: "websocket",
      "content-type": json,
    },
    body: '{"model":"m","messages":[]}',
  });
  await limited.finished(1);

  assert.deepEqual(bytes, completion.body);
  assert.equal(await limited.charged(5000), 5000);
});
