import assert from "node:assert/strict";
import { readUsageHeaders } from "../../../../src/llm/usage/token_usage.ts";

function read(fields: Readonly<Record<string, string>>) {
  return readUsageHeaders((name) => fields[name]);
}

Deno.test("readUsageHeaders reads the counts of Bedrock, including cached tokens", () => {
  const usage = read({
    "x-amzn-bedrock-input-token-count": "12",
    "x-amzn-bedrock-output-token-count": "3",
    "x-amzn-bedrock-cache-read-input-token-count": "50",
    "x-amzn-bedrock-cache-write-input-token-count": "20",
  });

  assert.equal(usage?.inputTokens, 82);
  assert.equal(usage?.outputTokens, 3);
  assert.equal(usage?.totalTokens, 85);
  assert.equal(usage?.estimated, false);
});

Deno.test("readUsageHeaders reads input without output, as for embeddings", () => {
  const usage = read({ "x-amzn-bedrock-input-token-count": "7" });

  assert.equal(usage?.totalTokens, 7);
});

Deno.test("readUsageHeaders returns undefined for missing or invalid counts", () => {
  assert.equal(read({}), undefined);
  assert.equal(read({ "x-amzn-bedrock-input-token-count": "-1" }), undefined);
});
