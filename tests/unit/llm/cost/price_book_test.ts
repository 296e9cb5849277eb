import assert from "node:assert/strict";
import {
  PriceBook,
  type PriceSettings,
} from "../../../../src/llm/cost/price_book.ts";
import { costOf } from "../../../../src/llm/cost/token_prices.ts";
import { formatUsd } from "../../../../src/base/log/log_text.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";

const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 };
const openai = "api.openai.com";

async function bookAt(
  date: string,
  { models = [], unknownModel = { input: 15, output: 75 } }: Partial<
    PriceSettings
  > = {},
) {
  const log = new RecordedLog();
  const clock = { now: () => Date.parse(date) };
  const book = new PriceBook({ models, unknownModel }, { clock, log });
  await book.load();
  return { book, log };
}

Deno.test("input, the prompt cache and output have prices of their own; cached tokens are part of the input", () => {
  const prices = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 };
  const tokens = {
    inputTokens: 1000,
    cachedInputTokens: 600,
    cacheCreationInputTokens: 300,
    outputTokens: 10,
  };
  // 100 × 3 + 600 × 0.3 + 300 × 3.75 + 10 × 15 millionths.
  assert.equal(formatUsd(costOf(prices, tokens)), "0.001755");
  assert.equal(
    formatUsd(costOf({ input: 3, output: 15 }, tokens)),
    "0.00315",
  );
});

Deno.test("speech has prices of its own, read from the cache too", () => {
  const prices = {
    input: 4,
    cachedInput: 0.4,
    output: 16,
    audioInput: 32,
    cachedAudioInput: 1,
    audioOutput: 64,
  };
  const tokens = {
    inputTokens: 1000,
    cachedInputTokens: 300,
    outputTokens: 100,
    audio: { input: 600, cached: 100, output: 90 },
  };
  // 200 × 4 + 500 × 32 + 200 × 0.4 + 100 × 1 + 10 × 16 + 90 × 64 millionths.
  assert.equal(formatUsd(costOf(prices, tokens)), "0.0229");
  // Without prices for speech it costs what text does.
  assert.equal(
    formatUsd(costOf({ input: 4, cachedInput: 0.4, output: 16 }, tokens)),
    "0.00452",
  );
  // A provider that reports more speech than tokens.
  const odd = {
    inputTokens: 10,
    outputTokens: 1,
    audio: { input: 1e9, cached: 1e9, output: 1e9 },
  };
  assert.equal(formatUsd(costOf(prices, odd)), "0.000384");
});

Deno.test("speech of gpt-realtime is charged at its public price", async () => {
  const { book } = await bookAt("2026-06-01");
  const audio = { input: 1e6, cached: 0, output: 1e6 };
  const served = { model: "gpt-realtime", host: openai };
  const { nanoUsd, isPriced } = book.price(served, { ...million, audio });
  assert.deepEqual([formatUsd(nanoUsd), isPriced], ["96", true]);
});

Deno.test("costs are rounded up, and never beyond what a budget can count", () => {
  const one = { inputTokens: 1, outputTokens: 0 };
  assert.equal(costOf({ input: 0.0001, output: 0 }, one), 1);
  assert.equal(costOf({ input: 0.3, output: 0 }, one), 300);
  assert.equal(costOf({ input: 0, output: 0 }, one), 0);
  const most = { inputTokens: 1e9, outputTokens: 1e9 };
  const cost = costOf({ input: 100_000, output: 100_000 }, most);
  assert(Number.isSafeInteger(cost));
  // A provider that reports more cached tokens than tokens.
  const odd = { inputTokens: 10, outputTokens: 0, cachedInputTokens: 1e9 };
  assert.equal(costOf({ input: 1, cachedInput: 1, output: 1 }, odd), 10_000);
});

for (
  const [model, host, date, usd] of [
    ["gpt-4o-2024-08-06", openai, "2026-01-01", "12.5"],
    // OpenAI lowered this price on 2025-06-10.
    ["o3", openai, "2025-05-01", "50"],
    ["o3", openai, "2025-07-01", "10"],
    ["claude-sonnet-4-20250514", "api.anthropic.com", "2026-01-01", "18"],
    // Prompts over 200,000 tokens cost more.
    [
      "gemini-2.5-pro",
      "generativelanguage.googleapis.com",
      "2026-01-01",
      "17.5",
    ],
    ["claude-sonnet-4-20250514", "127.0.0.1", "2025-08-01", "18"],
    [
      "anthropic.claude-3-5-sonnet-20240620-v1:0",
      "bedrock-runtime.us-east-1.amazonaws.com",
      "2026-01-01",
      "18",
    ],
  ] as const
) {
  Deno.test(`a million tokens each way of ${model} at ${host} cost ${usd} USD on ${date}`, async () => {
    const { book } = await bookAt(date);
    const cost = book.price({ model, host }, million);
    assert.deepEqual([formatUsd(cost.nanoUsd), cost.isPriced], [usd, true]);
    assert.deepEqual(book.price({ model, host }, million), cost);
  });
}

Deno.test("configured prices come first, from their day on", async () => {
  const models = [
    { model: "gpt-*", from: "2027-01-01", input: 9, output: 9 },
    { model: "gpt-4o", input: 1, output: 2 },
    { model: "*llama*", input: 0, output: 0 },
  ];
  const { book } = await bookAt("2026-12-31T23:59:59Z", { models });
  const later = await bookAt("2027-01-01", { models });
  const costs = (each: PriceBook) =>
    ["gpt-4o", "my.llama+3", "gpt-4o-mini"].map((model) =>
      formatUsd(each.price({ model, host: undefined }, million).nanoUsd)
    );

  assert.deepEqual(costs(book), ["3", "0", "0.75"]);
  assert.deepEqual(costs(later.book), ["18", "0", "18"]);
});

Deno.test("models without a price cost what is configured for them, and are named once in the log", async () => {
  const { book, log } = await bookAt("2026-01-01", {
    unknownModel: { input: 1, output: 2 },
  });
  for (const model of ["my-model", undefined, "my-model", "x".repeat(300)]) {
    const served = { model, host: "llm.internal" };
    const cost = book.price(served, million);
    assert.deepEqual(cost, { nanoUsd: 3e9, isPriced: false });
    book.warnUnknown(served);
  }
  const warnings = log.lines.filter((line) => /has no price/.test(line));
  assert.equal(warnings.length, 3);
  assert.match(warnings[0] ?? "", /config\.prices\.models/);
});

Deno.test("prices follow the clock", async () => {
  let now = Date.parse("2025-06-01");
  const book = new PriceBook({
    models: [],
    unknownModel: { input: 1, output: 1 },
  }, { clock: { now: () => now }, log: new RecordedLog() });
  await book.load();
  const read = () =>
    formatUsd(book.price({ model: "o3", host: openai }, million).nanoUsd);

  assert.equal(read(), "50");
  now = Date.parse("2025-06-20");
  assert.equal(read(), "10");
});
