import assert from "node:assert/strict";
import {
  BatchObjectUsage,
  type BatchUsages,
  ResultsUsage,
} from "../../../../src/llm/batch/batch_usage.ts";

const usageMetadata = {
  promptTokenCount: 8,
  candidatesTokenCount: 20,
  thoughtsTokenCount: 12,
  totalTokenCount: 40,
};

/** An operation of Gemini's batches: it has the results twice. */
function operation(name: string, results: number) {
  const output = {
    inlinedResponses: {
      inlinedResponses: Array.from({ length: results }, (_, i) => ({
        response: {
          candidates: [{ content: { parts: [{ text: "[{" }] } }],
          usageMetadata,
          modelVersion: "gemini-2.5-flash",
        },
        metadata: { key: `request-${i}` },
      })),
    },
  };
  return {
    name: `batches/${name}`,
    metadata: { model: "models/gemini-2.5-flash", output },
    done: true,
    response: output,
  };
}

const usage = { input_tokens: 30, output_tokens: 3, total_tokens: 33 };
const chat = { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 };
const jobOfMistral = {
  id: "job-1",
  object: "batch",
  output_file: "0-1",
  status: "SUCCESS",
  outputs: [
    { custom_id: "0", response: { status_code: 200, body: { usage: chat } } },
    { custom_id: "1", error: { message: "no" } },
    { custom_id: "2", response: { status_code: 200, body: { usage: chat } } },
  ],
};

function sumOf(usages: BatchUsages): number {
  assert(usages.every(({ isBatch }) => isBatch));
  return usages.reduce((sum, { totalTokens }) => sum + totalTokens, 0);
}

const bodies: readonly (readonly [string, unknown, unknown])[] = [
  ["a batch of OpenAI", {
    id: "b",
    status: "completed",
    output_file_id: "f",
    usage,
  }, [["f", undefined, 33]]],
  ["a batch without output", { id: "b", status: "failed", usage }, [
    [undefined, undefined, 33],
  ]],
  ["a batch in progress", { id: "b", status: "finalizing", usage }, []],
  [
    "a list of OpenAI's batches",
    { data: [{ status: "completed", usage }] },
    [],
  ],
  ["a batch of Anthropic", { id: "b", processing_status: "ended" }, []],
  ["results in a batch of Gemini", operation("b", 3), [["b", 3, 120]]],
  ["a batch of Gemini with a file", {
    name: "batches/b",
    response: { responsesFile: "files/batch-b" },
  }, []],
  ["a list of Gemini's batches", {
    operations: [operation("a", 1), { name: "batches/x" }, operation("b", 2)],
    nextPageToken: "n",
  }, [["a", 1, 40], ["b", 2, 80]]],
  ["results in a batch of Mistral", jobOfMistral, [["0-1", 3, 22]]],
];

for (const [what, body, expected] of bodies) {
  Deno.test(`${what} has its usage, however it is cut`, () => {
    const bytes = new TextEncoder().encode(JSON.stringify(body, undefined, 1));
    for (const step of [1, 7, bytes.length]) {
      const found = new BatchObjectUsage();
      for (let at = 0; at < bytes.length; at += step) {
        found.push(bytes.subarray(at, at + step));
      }
      const batches = found.finish().map(({ id, lines, usages }) => [
        id,
        lines,
        sumOf(usages),
      ]);
      assert.deepEqual(batches, expected);
    }
  });
}

Deno.test("a batch that breaks off has the results until then", () => {
  const text = JSON.stringify(operation("b", 3));
  const found = new BatchObjectUsage();
  const cut = text.lastIndexOf('{"key":"request-2"', text.indexOf('"done"'));
  found.push(new TextEncoder().encode(text.slice(0, cut)));

  const [batch, ...others] = found.finish();

  assert.equal(batch?.id, "b");
  assert.equal(batch?.lines, 2);
  assert.equal(sumOf(batch?.usages ?? []), 80);
  assert.deepEqual(others, []);
});

Deno.test("results count from the line after those that were charged", () => {
  const results = new ResultsUsage(1);
  const long = "a".repeat(100_000);
  for (let i = 0; i < 3; i++) {
    const body = { choices: [{ message: long }], model: "m", usage: chat };
    const line = `${JSON.stringify({ id: long, response: { body } })}\n`;
    results.push(new TextEncoder().encode(line));
  }

  assert.equal(results.lines, 3);
  assert.equal(sumOf(results.usages), 22);
});

Deno.test("results of any number of models have a bounded number of sums", () => {
  const results = new ResultsUsage(0);
  for (let i = 0; i < 1000; i++) {
    const body = { model: `model-${i}`, usage: chat };
    results.push(
      new TextEncoder().encode(JSON.stringify({ response: { body } })),
    );
  }

  assert.equal(results.usages.length, 32);
  assert.equal(sumOf(results.usages), 11_000);
});
