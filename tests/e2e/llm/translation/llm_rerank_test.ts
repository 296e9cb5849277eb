import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import {
  type ProviderRequestSeen,
  startProvider,
} from "../../../harness/llm/provider_server.ts";

type Fields = Readonly<Record<string, unknown>>;

async function open(
  llm: Fields,
  respond: (request: ProviderRequestSeen) => Response,
  limit: Fields = { cost: { usd: 0.003, unit: "Hours" } },
) {
  await using opening = new AsyncDisposableStack();
  const provider = opening.use(startProvider(respond));
  const gateway = opening.use(
    await startTestGateway({
      routes: [{
        name: "llm",
        policies: { rateLimit: { local: [limit] } },
        backends: [{
          llm: { host: provider.host, plainText: true, ...llm },
        }],
      }],
    }),
  );
  const open = opening.move();
  return {
    provider,
    async rerank(body: Fields, path = "/v2/rerank") {
      const response = await fetch(gateway.origin + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return { status: response.status, body: await response.json() };
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

const bedrock = { provider: "Bedrock", region: "us-east-1" };
const vertex = { provider: "Vertex", region: "us-central1", project: "p1" };
const documents = ["Berlin is a city.", "Paris is the capital of France."];
const query = "capital of France";
const ranked = {
  results: [
    { index: 1, relevance_score: 0.9 },
    { index: 0, relevance_score: 0.1 },
  ],
};

/** A model, its answer, and the request that it gets. */
const models = [
  {
    model: "cohere.rerank-v3-5:0",
    llm: bedrock,
    answer: ranked,
    sent: { query, documents, top_n: 2, api_version: 2 },
    path: "/model/cohere.rerank-v3-5%3A0/invoke",
  },
  {
    model: "amazon.rerank-v1:0",
    llm: bedrock,
    answer: ranked,
    sent: { query, documents, top_n: 2 },
    path: "/model/amazon.rerank-v1%3A0/invoke",
  },
  {
    model: "semantic-ranker-default-004",
    llm: vertex,
    answer: { records: [{ id: "1", score: 0.9 }, { id: "0", score: 0.1 }] },
    sent: {
      model: "semantic-ranker-default-004",
      query,
      records: [
        { id: "0", content: documents[0] },
        { id: "1", content: documents[1] },
      ],
      topN: 2,
      ignoreRecordDetailsInResponse: true,
    },
    path:
      "/v1/projects/p1/locations/global/rankingConfigs/default_ranking_config:rank",
  },
] as const;

for (const { model, llm, answer, sent, path } of models) {
  Deno.test(`clients of Cohere and Jina get rankings of ${model}, and their searches are charged`, async () => {
    await using opened = await open(llm, () => Response.json(answer));
    const asked = {
      ...{ model, query, max_tokens_per_doc: 512 },
      documents: [documents[0], { text: documents[1] }],
    };

    const { status, body } = await opened.rerank(asked);

    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(body.results, ranked.results);
    assert.equal(body.meta.billed_units.search_units, 1);
    const [request] = opened.provider.requests;
    assert.equal(request?.target, path);
    assert.deepEqual(JSON.parse(request?.body ?? ""), sent);
    const jina = await opened.rerank(
      { ...asked, top_n: 1, return_documents: true },
      "/v1/rerank",
    );
    assert.deepEqual(jina.body.results, [{
      ...{ index: 1, relevance_score: 0.9 },
      document: { text: documents[1] },
    }]);
    // 0.001 or 0.002 US dollars each, of 0.003.
    await opened.rerank(asked);
    assert.equal((await opened.rerank(asked)).status, 429);
  });
}

Deno.test("searches that a compatible server bills are charged, and its request stays as it is", async () => {
  const answer = {
    ...ranked,
    meta: { billed_units: { search_units: 2 } },
  };
  await using opened = await open(
    { provider: "OpenAICompatible", basePath: "/v2" },
    () => Response.json(answer),
  );
  const asked = { model: "rerank-v3.5", query, documents };
  const { body } = await opened.rerank(asked);

  assert.deepEqual(body, answer);
  const [request] = opened.provider.requests;
  assert.equal(request?.target, "/v2/rerank");
  assert.deepEqual(JSON.parse(request?.body ?? ""), asked);
  assert.equal((await opened.rerank(asked)).status, 429);
});

Deno.test("long documents at Bedrock are several; tokens of a ranking are estimated", async () => {
  await using opened = await open(
    bedrock,
    () => Response.json(ranked),
    { tokens: 100, unit: "Hours" },
  );
  const asked = {
    model: "amazon.rerank-v1:0",
    query,
    documents: ["a".repeat(150_000), "b".repeat(150_000)],
  };
  const { body } = await opened.rerank(asked);

  assert.equal(body.meta.billed_units.search_units, 2);
  assert.equal((await opened.rerank(asked)).status, 429);
});

const wrong: readonly (readonly [string, Fields, RegExp])[] = [
  ["no documents", { documents: [] }, /1 to 1000 documents/],
  ["too many documents", { documents: Array(1001).fill("a") }, /1 to 1000/],
  ["documents with fields", { documents: [{ title: "a" }] }, /documents\[0\]/],
  ["half a document", { top_n: 0.5 }, /"top_n" must be a positive integer/],
  ["a model that ranks nothing", { model: "amazon.nova-pro" }, /nova-pro/],
  ["fields", { rank_fields: ["title"] }, /"rank_fields" has no counterpart/],
];

for (const [what, fields, message] of wrong) {
  Deno.test(`a ranking of ${what} is rejected by name`, async () => {
    await using opened = await open(bedrock, () => Response.json(ranked));
    const model = "amazon.rerank-v1:0";
    const { status, body } = await opened.rerank({
      ...{ model, query, documents, ...fields },
    });
    assert.equal(status, 400);
    assert.match(body.error.message, message);
    assert.equal(opened.provider.requests.length, 0);
  });
}

Deno.test("an answer with a document that was not sent is an error of the provider", async () => {
  await using opened = await open(
    bedrock,
    () => Response.json({ results: [{ index: 7, relevance_score: 1 }] }),
  );
  const { status } = await opened.rerank({
    ...{ model: "amazon.rerank-v1:0", query, documents },
  });
  assert.equal(status, 502);
});
