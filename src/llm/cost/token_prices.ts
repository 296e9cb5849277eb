import { NANO_USD } from "../../base/log_text.ts";

/** US dollars per million tokens. */
export interface TokenPrices {
  /** Price of input that is neither read from nor written to the prompt cache. */
  readonly input: number;
  readonly output: number;
  /** Input read from the prompt cache; like `input` by default. */
  readonly cachedInput?: number | undefined;
  /** Input written to the prompt cache; like `input` by default. */
  readonly cacheWrite?: number | undefined;
}

/** Prices of models, as configured. */
export interface ModelPrices extends TokenPrices {
  /** Name, in which `*` stands for any text. */
  readonly model: string;
  /** First day on which the prices hold (UTC), such as `2026-01-31`; always, if not set. */
  readonly from?: string | undefined;
}

/** Tokens that a request used, by price. */
export interface PricedTokens {
  /** Cached tokens included. */
  readonly inputTokens: number;
  readonly cachedInputTokens?: number | undefined;
  readonly cacheCreationInputTokens?: number | undefined;
  readonly outputTokens: number;
}

const PER_TOKEN = NANO_USD / 1e6;

/** Returns what tokens cost, in billionths of a US dollar, rounded up. */
export function costOf(
  { input, output, cachedInput = input, cacheWrite = input }: TokenPrices,
  tokens: PricedTokens,
): number {
  const { inputTokens, outputTokens } = tokens;
  const { cachedInputTokens = 0, cacheCreationInputTokens = 0 } = tokens;
  const read = Math.min(cachedInputTokens, inputTokens);
  const written = Math.min(cacheCreationInputTokens, inputTokens - read);
  const cost = (inputTokens - read - written) * input + read * cachedInput +
    written * cacheWrite + outputTokens * output;
  // Sums of decimal fractions are off by less than that.
  const exact = Math.round(cost * PER_TOKEN * 1000) / 1000;
  return Math.min(Math.ceil(exact), Number.MAX_SAFE_INTEGER);
}
