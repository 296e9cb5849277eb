import assert from "node:assert/strict";
import OpenAI from "openai";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import {
  type ProviderRequestSeen,
  startProvider,
} from "../../../harness/llm/provider_server.ts";

type Fields = Readonly<Record<string, unknown>>;

async function open(
  llm: Fields,
  respond: (request: ProviderRequestSeen) => Response,
) {
  await using opening = new AsyncDisposableStack();
  const provider = opening.use(startProvider(respond));
  const gateway = opening.use(
    await startTestGateway({
      routes: [{
        name: "llm",
        policies: { rateLimit: { local: [{ tokens: 10, unit: "Hours" }] } },
        backends: [{
          llm: { host: provider.host, plainText: true, ...llm },
        }],
      }],
    }),
  );
  const open = opening.move();
  return {
    provider,
    /** Asks for Base64, as the SDK does by default. */
    openai: new OpenAI({
      ...{ apiKey: "k", maxRetries: 0, baseURL: `${gateway.origin}/v1` },
    }),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

const bedrock = { provider: "Bedrock", region: "us-east-1" };
const vertex = { provider: "Vertex", region: "global", project: "p1" };

/** A model, what it answers to the texts "one" and "two", and the requests that it gets. */
const models: readonly {
  readonly model: string;
  readonly llm: Fields;
  readonly answer: Fields;
  readonly headers?: Record<string, string>;
  readonly requests: readonly unknown[];
  readonly path: string;
}[] = [
  {
    model: "amazon.titan-embed-text-v2:0",
    llm: bedrock,
    answer: { embedding: [0.5, -2], inputTextTokenCount: 3 },
    requests: [
      { inputText: "one", dimensions: 256 },
      { inputText: "two", dimensions: 256 },
    ],
    path: "/model/amazon.titan-embed-text-v2%3A0/invoke",
  },
  {
    model: "amazon.nova-2-multimodal-embeddings-v1:0",
    llm: bedrock,
    answer: { embeddings: [{ embedding: [0.5, -2], embeddingType: "TEXT" }] },
    headers: { "x-amzn-bedrock-input-token-count": "3" },
    requests: ["one", "two"].map((value) => ({
      taskType: "SINGLE_EMBEDDING",
      singleEmbeddingParams: {
        embeddingPurpose: "GENERIC_INDEX",
        embeddingDimension: 256,
        text: { value, truncationMode: "NONE" },
      },
    })),
    path: "/model/amazon.nova-2-multimodal-embeddings-v1%3A0/invoke",
  },
  ...[
    { embeddings: [[0.5, -2], [0.5, -2]] },
    { embeddings: { float: [[0.5, -2], [0.5, -2]] } },
  ].map((answer, index) => ({
    model: `cohere.embed-v${index + 3}`,
    llm: bedrock,
    answer,
    headers: { "x-amzn-bedrock-input-token-count": "6" },
    requests: [{
      ...{ texts: ["one", "two"], input_type: "search_document" },
      ...{ truncate: "NONE", output_dimension: 256 },
    }],
    path: `/model/cohere.embed-v${index + 3}/invoke`,
  })),
  {
    model: "text-embedding-005",
    llm: vertex,
    answer: {
      predictions: ["one", "two"].map(() => ({
        embeddings: { values: [0.5, -2], statistics: { token_count: 3 } },
      })),
    },
    requests: [{
      instances: [{ content: "one" }, { content: "two" }],
      parameters: { autoTruncate: false, outputDimensionality: 256 },
    }],
    path:
      "/v1/projects/p1/locations/global/publishers/google/models/text-embedding-005:predict",
  },
];

for (const { model, llm, answer, headers = {}, requests, path } of models) {
  Deno.test(`OpenAI's SDK gets embeddings of ${model}, and their tokens are counted`, async () => {
    await using opened = await open(
      llm,
      () => Response.json(answer, { headers }),
    );
    const input = ["one", "two"];
    const ask = (more: Fields) =>
      opened.openai.embeddings.create({
        ...{ model, input, dimensions: 256, user: "anna", ...more },
      });

    const first = await ask({});
    const plain = await ask({ encoding_format: "float" });

    for (const { data, usage } of [first, plain]) {
      assert.deepEqual(
        data,
        input.map((_, index) => ({
          ...{ object: "embedding", index, embedding: [0.5, -2] },
        })),
      );
      assert.deepEqual(usage, { prompt_tokens: 6, total_tokens: 6 });
    }
    const sent = opened.provider.requests.slice(0, requests.length);
    assert.deepEqual(sent.map(({ body }) => JSON.parse(body)), requests);
    assert.equal(sent[0]?.target, path);
    await assert.rejects(ask({}), OpenAI.RateLimitError);
  });
}

const wrong: readonly (readonly [
  string,
  Partial<OpenAI.EmbeddingCreateParams>,
  RegExp,
])[] = [
  ["tokens", { input: [1, 2] }, /"input" must be a string/],
  ["no text", { input: [] }, /"input" must have 1 to 2048 texts/],
  ["too many texts", { input: Array(101).fill("a") }, /at most 100 texts/],
  ["a model without embeddings", { model: "amazon.nova-pro" }, /nova-pro/],
];

for (const [what, body, message] of wrong) {
  Deno.test(`embeddings of ${what} are rejected by name`, async () => {
    await using opened = await open(bedrock, () => Response.json({}));

    await assert.rejects(
      opened.openai.embeddings.create({
        model: "amazon.titan-embed-text-v2:0",
        input: "Hi",
        ...body,
      }),
      message,
    );
    assert.equal(opened.provider.requests.length, 0);
  });
}

Deno.test("an error for embeddings has OpenAI's form", async () => {
  await using opened = await open(
    bedrock,
    () => Response.json({ message: "Too long" }, { status: 400 }),
  );

  await assert.rejects(
    opened.openai.embeddings.create({
      ...{ model: "amazon.titan-embed-text-v2:0", input: ["a", "b"] },
    }),
    /400 Too long/,
  );
  assert.equal(opened.provider.requests.length, 1);
});

Deno.test("an answer without embeddings is an error of the provider", async () => {
  await using opened = await open(
    bedrock,
    () => Response.json({ embedding: "x" }),
  );

  await assert.rejects(
    opened.openai.embeddings.create({
      ...{ model: "amazon.titan-embed-text-v2:0", input: "a" },
    }),
    ({ status }: { status: number }) => status === 502,
  );
});
