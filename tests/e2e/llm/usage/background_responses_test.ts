/** Responses of OpenAI that run in the background: whoever reads them first is charged. */
import assert from "node:assert/strict";
import OpenAI from "openai";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";

const usage = {
  input_tokens: 30,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 70,
  output_tokens_details: { reasoning_tokens: 50 },
  total_tokens: 100,
};

function responseOf(id: string, status: string, background = true) {
  return {
    id,
    object: "response",
    background,
    status,
    model: "gpt-5.2",
    output: [],
    usage: status === "completed" ? usage : null,
  };
}

function eventsOf(id: string): string {
  return ["created", "completed"].map((type) => {
    const status = type === "completed" ? type : "in_progress";
    const event = {
      type: `response.${type}`,
      response: responseOf(id, status),
    };
    return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  }).join("");
}

/** Completes responses at the second look. */
function startProvider() {
  const looks = new Map<string, number>();
  let next = 0;
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      const id = pathname.split("/")[3] ?? `resp_${++next}`;
      const isStreamed = request.method === "POST"
        ? (await request.json()).stream === true
        : searchParams.has("stream");
      if (isStreamed) {
        const headers = { "content-type": "text/event-stream" };
        return new Response(eventsOf(id), { headers });
      }
      if (request.method === "POST") {
        return Response.json(responseOf(id, "queued"));
      }
      const isForeground = id.startsWith("resp_foreground");
      const look = looks.get(id) ?? 0;
      looks.set(id, look + 1);
      const status = look > 0 || isForeground ? "completed" : "in_progress";
      return Response.json(responseOf(id, status, !isForeground));
    },
  );
  return {
    host: `127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function start(tokens = 1000) {
  await using opening = new AsyncDisposableStack();
  const provider = opening.use(startProvider());
  const gateway = opening.use(
    await startTestGateway({
      config: { workers: 2 },
      routes: [{
        name: "llm",
        backends: [{ host: provider.host }],
        policies: { rateLimit: { local: [{ tokens, unit: "Hours" }] } },
      }],
    }),
  );
  const open = opening.move();
  const { origin } = gateway;
  return {
    gateway,
    origin,
    openai: new OpenAI({
      baseURL: `${origin}/v1`,
      apiKey: "none",
      maxRetries: 0,
    }),
    /** Waits until the use is in the log, and returns the charge. */
    async charged(uses: number) {
      const giveUpAt = Date.now() + 120_000;
      while (usesIn(gateway.accessLog) < uses && Date.now() < giveUpAt) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      assert.equal(usesIn(gateway.accessLog), uses);
      const { headers } = await fetchRaw(`${origin}/probe`);
      return tokens - Number(headers["x-ratelimit-remaining"]);
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function usesIn(accessLog: readonly string[]): number {
  const use = " gen_ai.usage.output_tokens=70 ";
  return accessLog.join("").split(use).length - 1;
}

const asking = { model: "gpt-5.2", input: "Hi", background: true } as const;

Deno.test("a response in the background is charged when it is first read complete, and only then", async () => {
  await using limited = await start();
  const { id, status } = await limited.openai.responses.create(asking);
  assert.equal(status, "queued");
  assert.equal(
    (await limited.openai.responses.retrieve(id)).status,
    "in_progress",
  );
  assert.equal(await limited.charged(0), 0);

  // Each of these has a connection of its own, which any worker may accept.
  for (let i = 0; i < 8; i++) {
    const { status } = await fetchRaw(`${limited.origin}/v1/responses/${id}`);
    assert.equal(status, 200);
  }
  assert.equal(
    (await limited.openai.responses.retrieve(id)).status,
    "completed",
  );
  const events = await limited.openai.responses.retrieve(id, { stream: true });
  for await (const _event of events) { /* Read to the end. */ }

  assert.equal(await limited.charged(1), 100);
  const log = limited.gateway.accessLog.join("");
  assert.doesNotMatch(log, /uncounted|estimated/);
});

Deno.test("a response in the background that is streamed is charged once, and not when it is read again", async () => {
  await using limited = await start();
  const events = await limited.openai.responses.create({
    ...asking,
    stream: true,
  });
  let id = "";
  for await (const event of events) {
    if (event.type === "response.completed") id = event.response.id;
  }
  assert.equal(await limited.charged(1), 100);
  for (let i = 0; i < 3; i++) {
    await limited.openai.responses.retrieve(id);
    await fetchRaw(`${limited.origin}/v1/responses/${id}?stream=true`);
  }
  assert.equal(await limited.charged(1), 100);
});

Deno.test("a response whose stream another request resumes is charged once", async () => {
  await using limited = await start();
  const path = `${limited.origin}/v1/responses/resp_elsewhere?stream=true`;
  for (let i = 0; i < 3; i++) await fetchRaw(`${path}&starting_after=${i}`);
  assert.equal(await limited.charged(1), 100);
});

Deno.test("reading a response again that did not run in the background is free", async () => {
  await using limited = await start();
  await limited.openai.responses.retrieve("resp_foreground");
  await fetchRaw(`${limited.origin}/v1/responses/resp_foreground/input_items`);
  assert.equal(await limited.charged(0), 0);
  assert.doesNotMatch(limited.gateway.accessLog.join(""), /uncounted/);
});
