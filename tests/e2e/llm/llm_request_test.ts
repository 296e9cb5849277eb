import assert from "node:assert/strict";
import { request } from "node:http";
import { createAuthority } from "../../harness/login/certificates.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { type LlmAnswer, LlmUpstream } from "../../harness/llm/llm_upstream.ts";
import { NodeUpstream } from "../../harness/servers/node_upstreams.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { openTokenBudget } from "../../harness/llm/token_budget.ts";
import {
  bytesOf,
  estimatedInput,
  events,
  json,
  sse,
} from "../../unit/llm/llm_responses.ts";

const chunk = { model: "gpt", choices: [{ delta: { content: "Hi" } }] };
const usage = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 };
/** Without usage, as a client gets it that did not ask. */
const plain = events(chunk) + "data: [DONE]\n\n";
/** With usage, as a provider sends it that was asked. */
const asked = events(
  { ...chunk, usage: null },
  { model: "gpt", choices: [], usage },
) + "data: [DONE]\n\n";

/** Tells usage when asked, as OpenAI does. */
function openAi({ body }: { readonly body: string }): LlmAnswer {
  const told = body.includes('"include_usage":true') ? asked : plain;
  return { contentType: sse, body: bytesOf(told) };
}

const chatPath = "/v1/chat/completions";
const streamed = '{"stream":true,"messages":[]}';
const streamedAndAsked =
  '{"stream_options":{"include_usage":true},"stream":true,"messages":[]}';

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

for (
  const [what, body, expected] of [
    ["hidden from a client that did not ask", streamed, plain],
    ["there for a client that did", streamedAndAsked, asked],
  ] as const
) {
  Deno.test(`the usage of a streamed chat is charged, and ${what}`, async () => {
    await using limited = await openTokenBudget(openAi);

    const response = await fetchRaw(limited.origin + chatPath, {
      method: "POST",
      headers: { "accept-encoding": "gzip" },
      body,
    });

    assert.equal(textOf(response.bytes), expected);
    assert.equal(await limited.charged(25), 25);
  });
}

const neverAsks = { includeUsage: false };
const tokens = { tokens: 1_000_000, unit: "Hours" };

for (
  const [where, route, config] of [
    ["its route", { local: [tokens], ...neverAsks }, {}],
    ["its gateway alone", { local: [tokens] }, {
      policies: [{
        name: "ceiling",
        targetRefs: [{ kind: "Gateway", name: "default" }],
        traffic: { rateLimit: { local: [tokens], ...neverAsks } },
      }],
    }],
  ] as const
) {
  Deno.test(`a streamed chat does not request usage when ${where} sets includeUsage: false, and is charged by estimate`, async () => {
    const estimate = estimatedInput(streamed) + 1;
    await using limited = await openTokenBudget(openAi, {
      route: { policies: { rateLimit: route } },
      config,
    });

    const response = await fetchRaw(limited.origin + chatPath, {
      method: "POST",
      headers: { "accept-encoding": "gzip" },
      body: streamed,
    });

    const [seen] = limited.upstream.requests;
    assert.equal(textOf(response.bytes), plain);
    assert.equal(seen?.body, streamed);
    assert.equal(seen?.headers["accept-encoding"], "gzip");
    assert.equal(await limited.charged(estimate), estimate);
  });
}

Deno.test("with includeUsage: false a provider that says its usage is charged for it, and the client sees it", async () => {
  await using limited = await openTokenBudget(
    { contentType: sse, body: bytesOf(asked) },
    { route: { policies: { rateLimit: { local: [tokens], ...neverAsks } } } },
  );

  const response = await fetchRaw(limited.origin + chatPath, {
    method: "POST",
    body: streamed,
  });

  assert.equal(textOf(response.bytes), asked);
  assert.equal(await limited.charged(25), 25);
});

Deno.test("a chat whose body comes in chunks requests usage too", async () => {
  await using limited = await openTokenBudget(openAi);

  const response = await fetch(limited.origin + chatPath, {
    method: "POST",
    body: new Blob([streamed]).stream(),
  });

  assert.equal(await response.text(), plain);
  assert.equal(await limited.charged(25), 25);
});

Deno.test("a chat that waits for 100 Continue gets it and requests usage", async () => {
  await using limited = await openTokenBudget(openAi);
  const url = limited.origin + chatPath;
  const headers = {
    expect: "100-continue",
    "content-length": String(streamed.length),
  };

  const text = await new Promise<string>((resolve, reject) => {
    const call = request(url, { method: "POST", headers }, (response) => {
      let text = "";
      response.on("data", (bytes) => text += bytes);
      response.on("end", () => resolve(text));
    });
    call.on("error", reject);
    call.on("continue", () => call.end(streamed));
    call.flushHeaders();
  });

  assert.equal(text, plain);
  assert.equal(await limited.charged(25), 25);
});

Deno.test("a chat too long to be held goes on as it is, and counts as what may be held and generated", async () => {
  const body = streamed.replace("[]", `["${"a ".repeat(40_000)}"]`);
  const estimate = Math.ceil(1024 / 3) + 65_536;
  await using limited = await openTokenBudget(openAi, {
    config: { config: { limits: { maxLlmBodyBytes: 1024 } } },
  });

  const response = await fetchRaw(limited.origin + chatPath, {
    method: "POST",
    body,
  });

  assert.equal(textOf(response.bytes), plain);
  assert.equal(limited.upstream.requests[0]?.body, body);
  assert.equal(await limited.charged(estimate), estimate);
});

Deno.test("a provider that compresses all the same is charged, and its bytes arrive", async () => {
  await using limited = await openTokenBudget((seen) => ({
    ...openAi(seen),
    coding: "gzip",
  }));

  const response = await fetch(limited.origin + chatPath, {
    method: "POST",
    body: streamed,
  });

  assert.equal(await response.text(), asked);
  assert.equal(
    limited.upstream.requests[0]?.headers["accept-encoding"],
    "identity",
  );
  assert.equal(await limited.charged(25), 25);
});

Deno.test("the path that counts is the one that the provider gets", async () => {
  await using limited = await openTokenBudget(openAi, {
    route: {
      filters: [{
        type: "URLRewrite",
        urlRewrite: {
          path: { type: "ReplaceFullPath", replaceFullPath: chatPath },
        },
      }],
    },
  });

  const response = await fetchRaw(`${limited.origin}/ask`, {
    method: "POST",
    body: streamed,
  });

  assert.equal(textOf(response.bytes), plain);
  assert.equal(await limited.charged(25), 25);
});

Deno.test("budgets can be those of a model", async () => {
  const answer: LlmAnswer = {
    contentType: json,
    body: bytesOf(JSON.stringify({ usage })),
  };
  const local = [{ tokens: 1, unit: "Hours", key: "llm.requestModel" }];
  await using limited = await openTokenBudget(answer, {
    route: { policies: { rateLimit: { local } } },
  });
  const statuses: number[] = [];

  for (const model of ["small", "small", "large"]) {
    const { status } = await fetchRaw(limited.origin + chatPath, {
      method: "POST",
      body: JSON.stringify({ model }),
    });
    statuses.push(status);
  }

  assert.deepEqual(statuses, [200, 429, 200]);
});

Deno.test("a chat over HTTP/2 is charged, and its usage hidden", async () => {
  const bodies: string[] = [];
  await using upstream = await NodeUpstream.http2((stream) => {
    let body = "";
    stream.on("data", (bytes) => body += bytes);
    stream.on("end", () => {
      bodies.push(body);
      stream.respond({ ":status": 200, "content-type": sse });
      stream.end(openAi({ body }).body);
    });
  });
  await using gateway = await startTestGateway({
    routes: [{
      name: "llm",
      backends: [{ backend: "llm" }],
      policies: { rateLimit: { local: [{ tokens: 100, unit: "Hours" }] } },
    }],
    backends: [{
      name: "llm",
      static: { host: "127.0.0.1", port: upstream.port },
      protocol: "HTTP2",
    }],
  });
  const post = () =>
    fetchRaw(gateway.origin + chatPath, { method: "POST", body: streamed });

  const first = await post();
  const second = await post();

  assert.equal(textOf(first.bytes), plain);
  assert.equal(second.headers["x-ratelimit-remaining"], "75");
  assert.match(bodies[0] ?? "", /"include_usage":true/);
});

Deno.test("the chat of an HTTP/2 client is charged, and its usage hidden", async () => {
  const authority = await createAuthority();
  const tls = await authority.issueServer(["localhost", "127.0.0.1"]);
  await using upstream = await LlmUpstream.start(openAi);
  await using gateway = await startTestGateway({
    routes: [{
      backends: upstream.backends,
      policies: { rateLimit: { local: [{ tokens: 100, unit: "Hours" }] } },
    }],
  }, { protocol: "HTTPS", tls });
  using client = Deno.createHttpClient({
    caCerts: [authority.cert],
    http1: false,
    http2: true,
  });
  const url = `https://127.0.0.1:${gateway.port}${chatPath}`;
  const post = () => fetch(url, { method: "POST", body: streamed, client });

  const first = await post();
  const firstText = await first.text();
  const second = await post();
  const secondText = await second.text();
  await gateway.gateway.stop(1000);

  assert.deepEqual([firstText, secondText], [plain, plain]);
  assert.equal(second.headers.get("x-ratelimit-remaining"), "75");
  assert.match(upstream.requests[0]?.body ?? "", /"include_usage":true/);
  assert.match(gateway.accessLog.join(""), /http\.version=HTTP\/2/);
});
