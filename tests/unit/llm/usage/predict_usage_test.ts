import assert from "node:assert/strict";
import { bytesOf, everyByte, json, scan } from "../llm_responses.ts";

function countsOf(document: unknown, indent?: number) {
  const body = bytesOf(JSON.stringify(document, null, indent));
  return [[body], everyByte(body)].map((pieces) => {
    const usage = scan(json, pieces, "predict");
    return usage && [usage.inputTokens, usage.outputTokens, usage.estimated];
  });
}

const values = Array.from({ length: 3072 }, (_, index) => index / 7);

Deno.test("embeddings of Vertex are counted, one for each text", () => {
  const document = {
    predictions: [4, 17, 250].map((count) => ({
      embeddings: {
        values,
        statistics: { truncated: false, token_count: count },
      },
    })),
    metadata: { billableCharacterCount: 900 },
  };
  for (const indent of [undefined, 2]) {
    assert.deepEqual(countsOf(document, indent), [
      [271, 0, false],
      [271, 0, false],
    ]);
  }
});

Deno.test("text of older models of Vertex is counted", () => {
  const document = {
    predictions: [{ content: 'It has "token_count": 99 in it' }],
    metadata: {
      tokenMetadata: {
        inputTokenCount: { totalBillableCharacters: 30, totalTokens: 8 },
        outputTokenCount: { totalBillableCharacters: 90, totalTokens: 21 },
      },
    },
  };
  assert.deepEqual(countsOf(document), [[8, 21, false], [8, 21, false]]);
});

Deno.test("predictions without counts are not counted", () => {
  const image = { bytesBase64Encoded: "A".repeat(100_000) };
  const document = { predictions: [image], metadata: { tokenMetadata: [] } };
  assert.deepEqual(countsOf(document), [undefined, undefined]);
  const counts = { totalTokens: -1 };
  const hostile = {
    predictions: { statistics: { token_count: "1e9" } },
    metadata: { tokenMetadata: { inputTokenCount: counts } },
  };
  assert.deepEqual(countsOf(hostile), [undefined, undefined]);
});
