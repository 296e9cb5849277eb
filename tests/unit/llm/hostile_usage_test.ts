import assert from "node:assert/strict";
import type { LlmApi } from "../../../src/llm/llm_api.ts";
import { namedEvents, scan, scanJson, sse } from "./llm_responses.ts";
import { fc } from "../../harness/parsers/properties.ts";

const hostile = [-1, -1e300, "-5", "1e9", "abc", "", null, true, [], {}, [5], {
  value: 5,
}];
for (const value of hostile) {
  Deno.test(`${JSON.stringify(value)} is not a token count`, () => {
    const usage = scanJson({
      usage: { prompt_tokens: value, completion_tokens: 7 },
    });

    assert.equal(usage?.inputTokens, 0);
    assert.equal(usage.totalTokens, 7);
  });
}

Deno.test("a hostile count does not replace an earlier one", () => {
  const stream = namedEvents(
    {
      type: "message_start",
      ...{ message: { usage: { input_tokens: 100, output_tokens: 1 } } },
    },
    {
      type: "message_delta",
      ...{ usage: { input_tokens: -100, output_tokens: 5 } },
    },
  );

  assert.equal(scan(sse, [stream], "messages")?.totalTokens, 105);
});

Deno.test("metadata echoed from the client is not usage", () => {
  const answer = { usage: null, metadata: { usage: { input_tokens: 1 } } };

  assert.equal(scanJson(answer, "responses"), undefined);
  assert.equal(scanJson(answer, "chat"), undefined);
});

Deno.test("a fraction is rounded up", () => {
  const usage = scanJson({
    usage: { prompt_tokens: 5.1, completion_tokens: 7 },
  });

  assert.equal(usage?.totalTokens, 13);
});

Deno.test("an absurdly large count is clamped to a thousand million", () => {
  for (const count of [1e300, 2 ** 53, 1e10]) {
    const usage = scanJson({ usage: { prompt_tokens: count } });
    assert.equal(usage?.totalTokens, 1e9);
  }
});

Deno.test("usage is never negative, a fraction or unbounded", () => {
  const fields = [
    ...["prompt_tokens", "completion_tokens", "total_tokens", "input_tokens"],
    ...["output_tokens", "cache_read_input_tokens", "promptTokenCount"],
    ...["candidatesTokenCount", "inputTokens", "cacheReadInputTokens"],
    ...["totalTokens", "prompt_tokens_details", "tokens", "billed_units"],
  ];
  const value = fc.oneof(
    fc.double(),
    fc.integer(),
    fc.constantFrom(1e300, -0, "7", null, { cached_tokens: -4 }),
    fc.object({ key: fc.constantFrom(...fields), maxDepth: 2 }),
  );
  const usage = fc.dictionary(fc.constantFrom(...fields), value);
  fc.assert(
    fc.property(
      usage,
      fc.constantFrom<LlmApi | undefined>(
        "chat",
        "messages",
        "rerank",
        undefined,
      ),
      (usage, api) => {
        const read = scanJson(
          { usage, usageMetadata: usage, meta: usage },
          api,
        );
        for (const count of Object.values(read ?? {})) {
          if (typeof count !== "number") continue;
          assert(Number.isSafeInteger(count) && count >= 0 && count <= 1e10);
        }
      },
    ),
    { numRuns: 2000 },
  );
});
