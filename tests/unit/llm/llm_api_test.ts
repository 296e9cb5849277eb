import assert from "node:assert/strict";
import { readOperation } from "../../../src/llm/providers/operation.ts";
import {
  detectLlmApi,
  llmApiFacts,
  llmApiNames,
  readPathModel,
} from "../../../src/llm/llm_api.ts";

for (
  const [path, api] of [
    ["/v1/chat/completions", "chat"],
    ["/openai/deployments/x/chat/completions?api-version=2024", "chat"],
    ["/v1/completions", "completions"],
    ["/v1/responses", "responses"],
    ["/v1/messages", "messages"],
    ["/v1/messages?beta=true", "messages"],
    ["/v1/embeddings", "embeddings"],
    ["/v2/rerank", "rerank"],
    ["/v1beta/models/gemini-2.5-flash:generateContent", "gemini"],
    ["/v1beta/models/g:streamGenerateContent?alt=sse", "gemini"],
    ["/model/us.amazon.nova-lite-v1%3A0/converse", "converse"],
    ["/model/us.amazon.nova-lite-v1:0/converse-stream", "converse"],
    [
      "/v1/projects/p/publishers/anthropic/models/c:streamRawPredict",
      "messages",
    ],
    ["/v1/projects/p/publishers/google/models/e:predict", "predict"],
    ["/v1/audio/transcriptions", "transcriptions"],
    ["/v1/chat", "cohere"],
    ["/v2/chat", "cohere"],
    ["/api/chat", "ollama"],
    ["/api/generate", "ollama"],
    ["/ml/v1/text/chat_stream?version=2024-03-14", "watsonx"],
    ["/ml/v1/text/generation?version=2024-03-14", "watsonxGeneration"],
    ["/completion", "llamacpp"],
    ["/generate", "tgi"],
    ["/generate_stream", "tgi"],
    ["/v1/chat/completions/", "chat"],
    ["/v1/chat/completions//?a=/b", "chat"],
    ["/V1/Chat/Completions", "chat"],
    ["/v1/chat/completions;a=b;c?d", "chat"],
    ["/v1;a/chat/completions;a=b/", "chat"],
    ["/v1beta/models/g:GenerateContent/", "gemini"],
    ["/v1/messages/count_tokens", undefined],
    ["/v1/messages/;x", "messages"],
    ["/v1/chat%2Fcompletions", "chat"],
    ["/v1/chat%252fcompletions%00.txt", "chat"],
    ["/v1%5Cchat//completions%3Fa", "chat"],
    ["/v1beta/models/g%3AgenerateContent", "gemini"],
    ["/v1beta/models/e:batchEmbedContents", "geminiEmbeddings"],
    ["/v1/chat%C3%A4/completions", "completions"],
    ["//", undefined],
    ["/v1/models", undefined],
    ["/v1beta/models/g:countTokens", undefined],
    ["/search?next=/v1/messages", undefined],
    ["/", undefined],
  ] as const
) {
  Deno.test(`POST ${path} uses ${api ?? "no known API"}`, () => {
    assert.equal(detectLlmApi("POST", path), api);
  });
}

Deno.test("only POST uses an API, except for WebSockets", () => {
  assert.equal(detectLlmApi("GET", "/v1/realtime?model=m"), "realtime");
  assert.equal(detectLlmApi("GET", "/v1/responses"), "realtime");
  for (const method of ["GET", "DELETE", "OPTIONS", "post"]) {
    assert.equal(detectLlmApi(method, "/v1/messages"), undefined);
  }
});

for (
  const [path, model] of [
    ["/v1beta/models/gemini-2.5-flash:generateContent", "gemini-2.5-flash"],
    [
      "/v1/projects/p/publishers/google/models/g-1:streamGenerateContent?alt=sse",
      "g-1",
    ],
    ["/model/us.amazon.nova-lite-v1%3A0/converse", "us.amazon.nova-lite-v1:0"],
    [
      "/model/us.amazon.nova-lite-v1:0/converse-stream",
      "us.amazon.nova-lite-v1:0",
    ],
    ["/v1beta/models/g-1%3AgenerateContent/?alt=sse", "g-1"],
    ["/model/m-1%3A0/converse/", "m-1:0"],
    ["/v1beta/tunedModels/own:generateContent", "own"],
    [
      "/v1/projects/p/locations/global/endpoints/17:generateContent",
      "17",
    ],
    [`/model/${"m".repeat(2048)}/converse`, "m".repeat(2048)],
    ["/openai/deployments/d-1/chat/completions?api-version=1", "d-1"],
    ["/v1/chat/completions", undefined],
    ["/model/%zz/converse", undefined],
  ] as const
) {
  Deno.test(`the model in ${path} is ${model ?? "not there"}`, () => {
    assert.equal(readPathModel(path), model);
  });
}

Deno.test("a model of Bedrock in a path of Gemini has its version", () => {
  const model = "anthropic.claude-haiku-4-5-v1:0";
  const path = `/v1beta/models/${model}:generateContent`;
  assert.equal(readPathModel(path), model);
  assert.deepEqual(readOperation("POST", path, false), {
    family: "gemini",
    name: "generateContent",
  });
});

Deno.test("docs/token_counting.md lists every API with its paths", async () => {
  const limits = new URL("../../../docs/token_counting.md", import.meta.url);
  const rows = (await Deno.readTextFile(limits))
    .matchAll(/^\| [^|]+ \| `(\w+)` +\| (`.*`) +\|$/gm);
  const documented = Array.from(rows, ([, api, paths = ""]) => [
    api,
    paths.toLowerCase().split(", ").map((path) => path.replaceAll("`", "")),
  ]);

  assert.deepEqual(
    Object.fromEntries(documented),
    Object.fromEntries(
      llmApiNames().map((api) => [api, llmApiFacts(api).endings]),
    ),
  );
});
