/** Batches of LLMs: whoever reads the results first is charged for them. */
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import {
  fetchRaw,
  type RawResponse,
} from "../../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";

/** Per line: 110 tokens; a dollar per million of input tokens, two of output, and half of that in batches. */
const openAiLines = Array.from({ length: 3 }, (_, i) => ({
  id: `batch_req_${i}`,
  custom_id: `request-${i}`,
  response: {
    status_code: 200,
    request_id: `req_${i}`,
    body: {
      id: `chatcmpl-${i}`,
      model: "gpt-test",
      choices: [{ message: { role: "assistant", content: "Hi" } }],
      usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
    },
  },
  error: null,
}));

const anthropicLines = [
  ...["claude-one", "claude-two"].map((model, i) => ({
    custom_id: `request-${i}`,
    result: {
      type: "succeeded",
      message: {
        id: `msg_${i}`,
        type: "message",
        role: "assistant",
        model,
        content: [{ type: "text", text: "Hi" }],
        usage: {
          input_tokens: 100,
          cache_read_input_tokens: 50,
          cache_creation_input_tokens: 0,
          output_tokens: 10,
        },
      },
    },
  })),
  { custom_id: "request-2", result: { type: "expired" } },
];

function batchOf(id: string, hasUsage: boolean) {
  return {
    id,
    object: "batch",
    endpoint: "/v1/chat/completions",
    status: "completed",
    input_file_id: "file-in",
    output_file_id: `file-out-${id}`,
    model: "gpt-test",
    request_counts: { total: 3, completed: 3, failed: 0 },
    ...(hasUsage && {
      usage: {
        input_tokens: 300,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 30,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 330,
      },
    }),
  };
}

/** Has completed batches; those whose name begins with `old` have no usage of their own. */
function startProvider() {
  const ranges: (string | null)[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => {
      const { pathname } = new URL(request.url);
      const [, id = "new"] = /batches\/(\w+)/.exec(pathname) ?? [];
      const type = "application/octet-stream";
      if (pathname.endsWith("/content")) {
        ranges.push(request.headers.get("range"));
        const headers = { "content-type": type };
        return new Response(toLines(openAiLines), { headers });
      }
      if (pathname.endsWith("/results")) {
        const headers = { "content-type": "application/x-jsonl" };
        return new Response(toLines(anthropicLines), { headers });
      }
      if (pathname.startsWith("/v1/messages/batches")) {
        return Response.json({
          id,
          type: "message_batch",
          processing_status: "ended",
          results_url: `http://unused/v1/messages/batches/${id}/results`,
        });
      }
      return request.method === "POST" && pathname.endsWith("/files")
        ? Response.json({ id: "file-in", object: "file" })
        : Response.json(batchOf(id, !id.startsWith("old")));
    },
  );
  return {
    ranges,
    host: `127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function toLines(values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}

function textOf({ bytes }: RawResponse): string {
  return new TextDecoder().decode(bytes);
}

const price = { input: 1, output: 2 };
const LIMIT = 10_000;

/** Starts a gateway with a budget of tokens, and one of money, before a provider. */
async function start(
  provider: { readonly host: string },
  { config = {}, rateLimit = {} } = {},
) {
  await using opening = new AsyncDisposableStack();
  const gateway = opening.use(
    await startTestGateway({
      config: {
        workers: 2,
        prices: { models: [{ model: "*", ...price }] },
        ...config,
      },
      routes: [{
        name: "llm",
        backends: [{ host: provider.host }],
        policies: {
          rateLimit: {
            local: [{ tokens: LIMIT, unit: "Hours" }],
            ...rateLimit,
          },
        },
      }],
    }),
  );
  const open = opening.move();
  const { origin } = gateway;
  const options = { apiKey: "none", maxRetries: 0 };
  return {
    gateway,
    origin,
    openai: new OpenAI({ baseURL: `${origin}/v1`, ...options }),
    anthropic: new Anthropic({ baseURL: origin, ...options }),
    /** Returns the charge once the log has as many requests. */
    async charged(requests: number) {
      const giveUpAt = Date.now() + 120_000;
      const logged = () =>
        gateway.accessLog.join("").split(" http.path=").length - 1;
      while (logged() < requests && Date.now() < giveUpAt) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      const { headers } = await fetchRaw(`${origin}/probe`);
      return LIMIT - Number(headers["x-ratelimit-remaining"]);
    },
    /** Costs in the log, in dollars. */
    get costs() {
      const text = gateway.accessLog.join("");
      return [...text.matchAll(/ llm\.cost_usd=([\d.e-]+)/g)]
        .map(([, cost]) => Number(cost));
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

Deno.test("a batch of OpenAI is charged when it is first read with its usage, and its results are free then", async () => {
  await using provider = startProvider();
  await using limited = await start(provider);
  const { openai } = limited;
  const file = await openai.files.create({
    file: new File(["{}"], "in.jsonl"),
    purpose: "batch",
  });
  const batch = await openai.batches.create({
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
  });
  assert.equal(await limited.charged(2), 0);

  for (let i = 0; i < 3; i++) await openai.batches.retrieve(batch.id);
  const results = await openai.files.content(batch.output_file_id ?? "");

  assert.equal(await results.text(), toLines(openAiLines));
  assert.equal(await limited.charged(7), 330);
  assert.deepEqual(limited.costs, [0.00018]);
  assert.doesNotMatch(limited.gateway.accessLog.join(""), /uncounted/);
});

Deno.test("the results of a batch of OpenAI are charged once, and then the batch is free", async () => {
  await using provider = startProvider();
  await using limited = await start(provider);
  const headers = { range: "bytes=0-10" };

  for (let i = 0; i < 3; i++) {
    const url = `${limited.origin}/v1/files/file-out-new/content`;
    assert.equal(
      textOf(await fetchRaw(url, { headers })),
      toLines(openAiLines),
    );
  }
  await limited.openai.batches.retrieve("new");

  assert.equal(await limited.charged(4), 330);
  assert.deepEqual(provider.ranges, [null, null, null]);
});

Deno.test("results of a batch of Anthropic are charged once, at the prices of their models", async () => {
  await using provider = startProvider();
  const models = [
    { model: "claude-one", ...price },
    { model: "claude-two", input: 10, output: 20, batch: 1 },
  ];
  await using limited = await start(provider, {
    config: { prices: { models } },
  });
  const batch = await limited.anthropic.messages.batches.retrieve("b1");
  // The address is that of the provider: the SDK would read it there.
  const { pathname } = new URL(batch.results_url ?? "");

  for (let i = 0; i < 2; i++) {
    const results = await fetchRaw(limited.origin + pathname);
    assert.equal(textOf(results), toLines(anthropicLines));
  }

  assert.equal(await limited.charged(3), 320);
  // 150 and 10 tokens of each; the first at half the price.
  assert.deepEqual(limited.costs, [0.000085 + 0.0017]);
});

Deno.test("another process with the same store, also after a restart, does not charge a batch again", async () => {
  const directory = await Deno.makeTempDir();
  await using provider = startProvider();
  const config = { kv: { path: `${directory}/kv.sqlite` } };
  {
    await using one = await start(provider, { config });
    await using two = await start(provider, { config });
    await one.openai.batches.retrieve("b1");
    await two.openai.batches.retrieve("b1");
    assert.equal(await one.charged(1) + await two.charged(1), 330);
  }
  await using three = await start(provider, { config });
  await three.openai.batches.retrieve("b1");
  await fetchRaw(`${three.origin}/v1/files/file-out-b1/content`);
  assert.equal(await three.charged(2), 0);
});

Deno.test("creating a batch is denied where tokens have to be known before", async () => {
  await using provider = startProvider();
  await using limited = await start(provider, {
    rateLimit: { unknownUsage: "Deny" },
  });
  const post = async (path: string) =>
    (await fetchRaw(`${limited.origin}${path}`, { method: "POST", body: "{}" }))
      .status;

  assert.equal(await post("/v1/batches"), 400);
  assert.equal(await post("/v1/messages/batches"), 400);
  assert.equal(await post("/v1/files"), 400);
});
