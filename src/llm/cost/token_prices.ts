import { NANO_USD } from "../../base/log/log_text.ts";

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
  /** Input that is an image; like `input` by default. */
  readonly imageInput?: number | undefined;
  /** Output that is an image; like `output` by default. */
  readonly imageOutput?: number | undefined;
  /** US dollars per hour of speech, of models that bill it in place of tokens. */
  readonly audioHour?: number | undefined;
  /** US dollars per page that is read, of models that bill pages. */
  readonly page?: number | undefined;
  /** US dollars per image, of models that bill images. */
  readonly image?: number | undefined;
  /** US dollars per million characters that are spoken, of models that bill characters. */
  readonly characters?: number | undefined;
  /** US dollars per search, of models that rank documents and bill searches. */
  readonly search?: number | undefined;
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

/** Units that some models bill in place of tokens: the name of the price, the amount that it is for, and a price above those of most providers. */
const billedUnits = {
  audioSecond: { price: "audioHour", per: 3600, guard: 1.5 },
  page: { price: "page", per: 1, guard: 0.01 },
  image: { price: "image", per: 1, guard: 0.25 },
  character: { price: "characters", per: 1e6, guard: 30 },
  search: { price: "search", per: 1, guard: 0.005 },
} as const;

/** Something that is billed in place of tokens. */
export interface Billed {
  readonly unit: keyof typeof billedUnits;
  readonly amount: number;
}

/** Returns prices with one above those of most providers for a unit. */
export function withGuard(prices: TokenPrices, { unit }: Billed): TokenPrices {
  const { price, guard } = billedUnits[unit];
  return { [price]: guard, ...prices };
}

/** Reports whether prices have one for a unit. */
export function bills(prices: TokenPrices, { unit }: Billed): boolean {
  return prices[billedUnits[unit].price] !== undefined;
}

/** Part of the tokens that has prices of its own. */
interface Medium {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** Tokens that a request used, by price. */
export interface PricedTokens {
  /** Cached tokens included. */
  readonly inputTokens: number;
  readonly cachedInputTokens?: number | undefined;
  readonly cacheCreationInputTokens?: number | undefined;
  readonly outputTokens: number;
  /** Part of them that is speech. */
  readonly audio?: Medium | undefined;
  /** Part of them that are images. */
  readonly image?: Medium | undefined;
  /** Billed in place of tokens where there is a price for it. */
  readonly billed?: Billed | undefined;
  readonly isBatch?: boolean | undefined;
}

/** OpenAI, Anthropic, Google and Mistral charge half the price. */
const BATCH = 0.5;
const PER_TOKEN = NANO_USD / 1e6;

/** Returns what tokens cost, in billionths of a US dollar, rounded up. */
export function costOf(
  prices: TokenPrices,
  tokens: PricedTokens,
): number {
  const { input, output } = prices;
  const { cachedInput = input, cacheWrite = input } = prices;
  const { billed } = tokens;
  if (billed !== undefined && bills(prices, billed)) {
    const { price, per } = billedUnits[billed.unit];
    const nanoUsd = billed.amount / per * (prices[price] ?? 0) * NANO_USD;
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

/** Returns what speech and images cost beyond the price of text, per million tokens. @param read Input read from the cache. */
function surchargeOf(
  prices: TokenPrices,
  tokens: PricedTokens,
  read: number,
): number {
  const { input, output, cachedInput = input } = prices;
  const { audioInput = input, audioOutput = output } = prices;
  const { imageInput = input, imageOutput = output } = prices;
  const { cachedAudioInput = cachedInput } = prices;
  const { inputTokens, outputTokens } = tokens;
  const surcharge = (
    medium: Medium | undefined,
    ownInput: number,
    ownCached: number,
    ownOutput: number,
  ) => {
    if (medium === undefined) return 0;
    const cached = Math.min(medium.cached, medium.input, read);
    const given = Math.min(medium.input - cached, inputTokens - read);
    const made = Math.min(medium.output, outputTokens);
    return given * (ownInput - input) + made * (ownOutput - output) +
      cached * (ownCached - cachedInput);
  };
  return surcharge(tokens.audio, audioInput, cachedAudioInput, audioOutput) +
    surcharge(tokens.image, imageInput, cachedInput, imageOutput);
}

/** Sums of decimal fractions are off by less than a thousandth. */
function roundUp(nanoUsd: number): number {
  return Math.ceil(Math.round(nanoUsd * 1000) / 1000);
}
