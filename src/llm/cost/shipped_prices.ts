/** The only file that knows @pydantic/genai-prices: public prices of models, with dates. */
import type * as GenaiPrices from "@pydantic/genai-prices";
import type { TokenPrices } from "./token_prices.ts";

let library: typeof GenaiPrices | undefined;

/** Loads the prices, which takes 20 ms and 5 MB; await it before `shippedPrices`. */
export async function loadShippedPrices(): Promise<void> {
  library ??= await import("@pydantic/genai-prices");
}

/** A model whose prices are looked up. */
export interface PricedModel {
  readonly model: string;
  /** Host of the provider, such as `api.openai.com`. */
  readonly host: string | undefined;
  /** Tokens of the request: some prices depend on them. */
  readonly inputTokens: number;
}

/** Prices of a model; `tiered` ones depend on the number of input tokens. */
export interface ShippedPrices {
  readonly prices: TokenPrices;
  readonly isTiered: boolean;
}

/** Returns the public prices of a model at a time; `undefined` if the model is not known. */
export function shippedPrices(
  { model, host, inputTokens }: PricedModel,
  time: number,
): ShippedPrices | undefined {
  if (library === undefined) {
    throw new TypeError("Cannot look up prices before loadShippedPrices()");
  }
  const at = { timestamp: new Date(time) };
  const usage = { input_tokens: inputTokens };
  // The same model may have another price at another provider.
  const found = (host === undefined ? null : library.calcPrice(usage, model, {
    ...at,
    providerApiUrl: `https://${host}/`,
  })) ?? library.calcPrice(usage, model, at) ??
    (bedrockName.test(model)
      ? library.calcPrice(usage, model, { ...at, providerId: "aws" })
      : null);
  const unit = unitPrices.find(([pattern]) => pattern.test(model))?.[1];
  if (found === null) {
    return unit &&
      { prices: { input: 0, output: 0, ...unit }, isTiered: false };
  }
  const { model_price: price } = found;
  const read = (name: string): number | undefined => {
    const value = price[name];
    if (value === undefined || typeof value === "number") return value;
    const tier = value.tiers.findLast(({ start }) => inputTokens > start);
    return tier?.price ?? value.base;
  };
  return {
    prices: {
      input: read("input_mtok") ?? 0,
      output: read("output_mtok") ?? 0,
      cachedInput: read("cache_read_mtok"),
      cacheWrite: read("cache_write_mtok"),
      audioInput: read("input_audio_mtok"),
      cachedAudioInput: read("cache_audio_read_mtok"),
      audioOutput: read("output_audio_mtok"),
      imageInput: read("input_image_mtok"),
      imageOutput: read("output_image_mtok"),
      audioHour: read("input_audio_hours"),
      page: perPage(read("input_document_kpages")),
      ...unit,
    },
    isTiered: Object.values(price).some((value) => typeof value === "object"),
  };
}

/** Names of Bedrock, which it has behind every host: `eu.anthropic.claude-…`, `amazon.nova-…`. */
const bedrockName =
  /^(?:[a-z-]{2,8}\.)?(?:ai21|amazon|anthropic|cohere|deepseek|meta|mistral|openai|qwen|stability|writer)\./;

function perPage(perThousand: number | undefined): number | undefined {
  return perThousand === undefined ? undefined : perThousand / 1000;
}

/** Models that bill characters or searches, whose prices the package does not have; 2026-11-26. */
const unitPrices: readonly (readonly [RegExp, Partial<TokenPrices>])[] = [
  [/^tts-1$/, { characters: 15 }],
  [/^tts-1-hd$/, { characters: 30 }],
  [/(?:^|cohere\.)rerank-/, { search: 0.002 }],
  [/amazon\.rerank-/, { search: 0.001 }],
  [/^semantic-ranker-/, { search: 0.001 }],
];
