import assert from "node:assert/strict";
import { GoogleGenAI } from "@google/genai";
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
        policies: { rateLimit: { local: [{ tokens: 6, unit: "Hours" }] } },
        backends: [{
          llm: { host: provider.host, plainText: true, ...llm },
        }],
      }],
    }),
  );
  const open = opening.move();
  return {
    provider,
    gateway,
    google: new GoogleGenAI({
      ...{ apiKey: "k", httpOptions: { baseUrl: gateway.origin } },
    }),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

const bedrock = { provider: "Bedrock", region: "us-east-1" };
const values = [0.5, -2];

/** A model, what it answers to the texts "one" and "two" with the purpose of a query, and the requests that it gets. */
const models: readonly {
  readonly model: string;
  readonly llm: Fields;
  readonly answer: Fields;
  readonly headers?: Record<string, string>;
  readonly requests: readonly unknown[];
  readonly dropped?: string;
}[] = [
  {
    model: "text-embedding-3-small",
    llm: { provider: "OpenAI" },
    answer: {
      data: [{ index: 1, embedding: values }, { index: 0, embedding: values }],
      usage: { prompt_tokens: 6, total_tokens: 6 },
    },
    requests: [{
      ...{ model: "text-embedding-3-small", input: ["one", "two"] },
      ...{ encoding_format: "float", dimensions: 256 },
    }],
    dropped: "taskType",
  },
  {
    model: "amazon.titan-embed-text-v2:0",
    llm: bedrock,
    answer: { embedding: values, inputTextTokenCount: 3 },
    requests: [
      { inputText: "one", dimensions: 256 },
      { inputText: "two", dimensions: 256 },
    ],
    dropped: "taskType",
  },
  {
    model: "cohere.embed-v4:0",
    llm: bedrock,
    answer: { embeddings: { float: [values, values] } },
    headers: { "x-amzn-bedrock-input-token-count": "6" },
    requests: [{
      ...{ texts: ["one", "two"], input_type: "search_query" },
      ...{ truncate: "NONE", output_dimension: 256 },
    }],
  },
  {
    model: "text-embedding-005",
    llm: { provider: "Vertex", region: "global", project: "p1" },
    answer: {
      predictions: ["one", "two"].map(() => ({
        embeddings: { values, statistics: { token_count: 3 } },
      })),
    },
    requests: [{
      instances: ["one", "two"].map((content) => ({
        ...{ content, task_type: "RETRIEVAL_QUERY" },
      })),
      parameters: { autoTruncate: false, outputDimensionality: 256 },
    }],
  },
];

for (const { model, llm, answer, headers = {}, requests, dropped } of models) {
  Deno.test(`Google's SDK gets embeddings of ${model}, and their tokens are counted`, async () => {
    await using opened = await open(
      llm,
      () => Response.json(answer, { headers }),
    );
    const asked = {
      model,
      contents: ["one", "two"],
      config: { outputDimensionality: 256, taskType: "RETRIEVAL_QUERY" },
    };
    const found = await opened.google.models.embedContent(asked);

    assert.deepEqual(
      found.embeddings?.map((each) => each.values),
      [values, values],
    );
    assert.equal(
      found.sdkHttpResponse?.headers?.["x-gateway-dropped"],
      dropped,
    );
    const sent = opened.provider.requests;
    assert.deepEqual(sent.map(({ body }) => JSON.parse(body)), requests);
    await assert.rejects(
      opened.google.models.embedContent(asked),
      /"code":429/,
    );
  });
}

async function post(origin: string, verb: string, body: Fields) {
  const response = await fetch(
    `${origin}/v1beta/models/amazon.titan-embed-text-v2:0:${verb}`,
    { method: "POST", body: JSON.stringify(body) },
  );
  return { status: response.status, body: await response.json() };
}

Deno.test("embedContent has one embedding, of all parts", async () => {
  await using opened = await open(
    bedrock,
    () => Response.json({ embedding: values, inputTextTokenCount: 3 }),
  );
  const { body } = await post(opened.gateway.origin, "embedContent", {
    content: { parts: [{ text: "one" }, { text: "two" }] },
  });
  assert.deepEqual(body, {
    embedding: { values },
    usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 },
  });
  const [request] = opened.provider.requests;
  assert.equal(JSON.parse(request?.body ?? "").inputText, "one\ntwo");
});

const one = { content: { parts: [{ text: "one" }] } };
const wrong: readonly (readonly [string, Fields, RegExp])[] = [
  ["no requests", { requests: [] }, /1 to 2048 texts/],
  ["too many", { requests: Array(101).fill(one) }, /at most 100 texts/],
  [
    "an image",
    { requests: [{ content: { parts: [{ inlineData: {} }] } }] },
    /"requests\[0\]\.content\.parts\[0\]\.text" is missing/,
  ],
  [
    "two purposes",
    { requests: [one, { ...one, taskType: "CLUSTERING" }] },
    /must have the same "taskType"/,
  ],
];

for (const [what, body, message] of wrong) {
  Deno.test(`batchEmbedContents with ${what} is rejected by name`, async () => {
    await using opened = await open(bedrock, () => Response.json({}));
    const answer = await post(opened.gateway.origin, "batchEmbedContents", {
      ...body,
    });
    assert.equal(answer.status, 400);
    assert.match(answer.body.error.message, message);
    assert.equal(answer.body.error.status, "INVALID_ARGUMENT");
    assert.equal(opened.provider.requests.length, 0);
  });
}
