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
  /** Input that is speech; like `input` by default. */
  readonly audioInput?: number | undefined;
  /** Speech read from the prompt cache; like `cachedInput` by default. */
  readonly cachedAudioInput?: number | undefined;
  /** Output that is speech; like `output` by default. */
  readonly audioOutput?: number | undefined;
  /** US dollars per hour of speech, of models that bill it in place of tokens. */
  readonly audioHour?: number | undefined;
  /** Price of a batch, in relation to that of other requests; 0.5 by default. */
  readonly batch?: number | undefined;
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
  /** Part of them that is speech. */
  readonly audio?: {
    readonly input: number;
    readonly cached: number;
    readonly output: number;
  } | undefined;
  /** Speech that is billed in place of tokens. */
  readonly audioSeconds?: number | undefined;
  readonly isBatch?: boolean | undefined;
}

/** OpenAI, Anthropic, Google and Mistral charge half the price. */
const BATCH = 0.5;
const PER_TOKEN = NANO_USD / 1e6;
const SECONDS_PER_HOUR = 3600;

/** Returns what tokens cost, in billionths of a US dollar, rounded up. */
export function costOf(
  prices: TokenPrices,
  tokens: PricedTokens,
): number {
  const { input, output, audioHour = 0 } = prices;
  const { cachedInput = input, cacheWrite = input } = prices;
  if (tokens.audioSeconds !== undefined) {
    const nanoUsd = tokens.audioSeconds / SECONDS_PER_HOUR * audioHour *
      NANO_USD;
    return Math.min(roundUp(nanoUsd), Number.MAX_SAFE_INTEGER);
  }
  const { inputTokens, outputTokens } = tokens;
  const { cachedInputTokens = 0, cacheCreationInputTokens = 0 } = tokens;
  const read = Math.min(cachedInputTokens, inputTokens);
  const written = Math.min(cacheCreationInputTokens, inputTokens - read);
  const cost = (inputTokens - read - written) * input + read * cachedInput +
    written * cacheWrite + outputTokens * output +
    surchargeOf(prices, tokens, read);
  const factor = tokens.isBatch === true ? prices.batch ?? BATCH : 1;
  const nanoUsd = roundUp(Math.max(0, cost) * factor * PER_TOKEN);
  return Math.min(nanoUsd, Number.MAX_SAFE_INTEGER);
}

/** Returns what speech costs beyond the price of text, per million tokens. @param read Input read from the cache. */
function surchargeOf(
  { input, output, cachedInput = input, ...prices }: TokenPrices,
  { audio, inputTokens, outputTokens }: PricedTokens,
  read: number,
): number {
  if (audio === undefined) return 0;
  const { audioInput = input, audioOutput = output } = prices;
  const { cachedAudioInput = cachedInput } = prices;
  const cached = Math.min(audio.cached, audio.input, read);
  const heard = Math.min(audio.input - cached, inputTokens - read);
  const spoken = Math.min(audio.output, outputTokens);
  return heard * (audioInput - input) + spoken * (audioOutput - output) +
    cached * (cachedAudioInput - cachedInput);
}

/** Sums of decimal fractions are off by less than a thousandth. */
function roundUp(nanoUsd: number): number {
  return Math.ceil(Math.round(nanoUsd * 1000) / 1000);
}
