import Anthropic from "@anthropic-ai/sdk";
import assert from "node:assert/strict";
import OpenAI from "openai";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  directly,
  openPlayground,
  type Path,
} from "../../harness/process/paths.ts";

/** Through a gateway that limits tokens; clients must not see that it counts them. */
const throughLimit: Path = {
  name: "through a token limit",
  async reach(origin) {
    const running = await startTestGateway({
      routes: [{
        name: "llm",
        backends: [{ host: new URL(origin).host }],
        policies: { rateLimit: { local: [{ tokens: 1e6, unit: "Hours" }] } },
      }],
    });
    return {
      origin: running.origin,
      [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
    };
  },
};

const messages = [{ role: "user" as const, content: "Hello there" }];
const chat = { model: "any", messages };
const message = { model: "any", max_tokens: 9, messages };

function openAi(origin: string): OpenAI {
  return new OpenAI({ baseURL: `${origin}/v1`, apiKey: "none", maxRetries: 0 });
}

function anthropic(origin: string): Anthropic {
  return new Anthropic({ baseURL: origin, apiKey: "none", maxRetries: 0 });
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  return await Array.fromAsync(items);
}

/** Requests of a client with their results. IDs of the playground depend on the bytes of the request. */
const asks: readonly [string, (origin: string) => Promise<unknown>][] = [
  ["chat", (to) => openAi(to).chat.completions.create(chat)],
  [
    "chat streamed, with usage",
    async (to) =>
      await collect(
        await openAi(to).chat.completions.create({
          ...chat,
          stream: true,
          stream_options: { include_usage: true },
        }),
      ),
  ],
  [
    "responses",
    (to) => openAi(to).responses.create({ model: "any", input: "Hi" }),
  ],
  [
    "responses streamed",
    async (to) =>
      await collect(
        await openAi(to).responses.create({
          model: "any",
          input: "Hi",
          stream: true,
        }),
      ),
  ],
  [
    "embeddings",
    (to) => openAi(to).embeddings.create({ model: "any", input: "Hi" }),
  ],
  ["messages", (to) => anthropic(to).messages.create(message)],
  [
    "messages streamed",
    async (to) =>
      await collect(
        await anthropic(to).messages.create({ ...message, stream: true }),
      ),
  ],
];

for (const [name, ask] of asks) {
  Deno.test(`official clients get the same objects with and without a token limit: ${name}`, async () => {
    await using near = await openPlayground(directly);
    await using far = await openPlayground(throughLimit);

    const actual = await ask(far.llmUrl);

    assert.deepEqual(
      withoutHidden(actual),
      withoutHidden(await ask(near.llmUrl)),
    );
    const { headers } = await fetchRaw(`${far.llmUrl}/v1/models`);
    assert.ok(Number(headers["x-ratelimit-remaining"]) < 1e6);
  });
}

Deno.test("official clients get the same chunks of a chat, streamed without usage, and the tokens are charged", async () => {
  await using near = await openPlayground(directly);
  await using far = await openPlayground(throughLimit);
  const ask = async (origin: string) =>
    await collect(
      await openAi(origin).chat.completions.create({ ...chat, stream: true }),
    );

  const actual = await ask(far.llmUrl);
  const expected = await ask(near.llmUrl);

  // The playground makes ids of the request's bytes, and this request was changed on its way.
  const [first] = expected;
  assert.ok(first !== undefined && actual[0] !== undefined);
  assert.ok(actual.every(({ id }) => id === actual[0]?.id));
  const sameId = actual.map((each) => ({ ...each, id: first.id }));
  assert.deepEqual(sameId, expected);
  assert.ok(expected.every((each) => !("usage" in each)));
  const { headers } = await fetchRaw(`${far.llmUrl}/v1/models`);
  assert.equal(headers["x-ratelimit-remaining"], String(1e6 - 9));
});

for (const stream of [false, true]) {
  for (
    const [path, body] of [
      ["/v1/chat/completions", { ...chat, stream }],
      ["/v1/responses", { model: "any", input: "Hi", stream }],
      ["/v1/messages", { ...message, stream }],
    ] as const
  ) {
    const how = stream ? "streamed" : "whole";
    Deno.test(`${path} gives equal bytes with and without a token limit, ${how}`, async () => {
      await using near = await openPlayground(directly);
      await using far = await openPlayground(throughLimit);
      const read = async (origin: string) => {
        const text = new TextDecoder().decode(
          (await fetchRaw(origin + path, {
            method: "POST",
            body: JSON.stringify(body),
          })).bytes,
        );
        return text.replaceAll(/chatcmpl-[\w]+/g, "chatcmpl-");
      };

      assert.equal(await read(far.llmUrl), await read(near.llmUrl));
    });
  }
}

/** An object of a client as plain data. */
function withoutHidden(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
