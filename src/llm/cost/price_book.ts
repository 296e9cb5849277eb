import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import {
  bills,
  costOf,
  type ModelPrices,
  type PricedTokens,
  type TokenPrices,
  withGuard,
} from "./token_prices.ts";
import { loadShippedPrices, shippedPrices } from "./shipped_prices.ts";

/** Configured prices; those that come with the gateway apply to all other models. */
export interface PriceSettings {
  /** The first entry that has begun and whose name matches applies. */
  readonly models: readonly ModelPrices[];
  /** For models without a price. */
  readonly unknownModel: TokenPrices;
}

/** Costs of a request. */
export interface Cost {
  /** In billionths of a US dollar. */
  readonly nanoUsd: number;
  /** False if the model has no price: then it is that of `unknownModel`. */
  readonly isPriced: boolean;
}

/** A model at a provider. */
export interface ServedModel {
  /** `undefined` when neither request nor response name it. */
  readonly model: string | undefined;
  /** Host of the provider: the same model may have several prices. */
  readonly host: string | undefined;
}

interface CachedPrices {
  readonly prices: TokenPrices;
  readonly isPriced: boolean;
  readonly until: number;
}

/** Prices change with the day, and some with the hour. */
const CACHE_MS = 600_000;
const MAX_CACHED = 1000;
const MAX_WARNINGS = 1000;

/** Knows what tokens cost. */
export class PriceBook {
  readonly #settings: PriceSettings;
  readonly #entries: readonly (readonly [ModelPrices, RegExp, number])[];
  readonly #clock: Pick<Clock, "now">;
  readonly #log: Log;
  readonly #cache = new Map<string, CachedPrices>();
  readonly #warned = new Set<string>();
  #isLoaded = false;

  constructor(
    settings: PriceSettings,
    { clock, log }: {
      readonly clock: Pick<Clock, "now">;
      readonly log: Log;
    },
  ) {
    this.#settings = settings;
    this.#entries = settings.models.map((entry) => [
      entry,
      patternOf(entry.model),
      entry.from === undefined ? -Infinity : Date.parse(entry.from),
    ]);
    this.#clock = clock;
    this.#log = log;
  }

  /** True once `load` has ended. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Loads the prices that come with the gateway; await it before `price`. */
  async load(): Promise<void> {
    await loadShippedPrices();
    this.#isLoaded = true;
  }

  /** Returns what tokens cost now. */
  price(served: ServedModel, tokens: PricedTokens): Cost {
    const { prices, isPriced } = this.#find(served, tokens.inputTokens);
    const { billed } = tokens;
    // Other models for speech and images bill tokens, which are estimated then.
    const hasPrice = billed === undefined || bills(prices, billed) ||
      isPriced && billed.unit !== "audioSecond";
    if (hasPrice) return { nanoUsd: costOf(prices, tokens), isPriced };
    const guarded = withGuard(this.#settings.unknownModel, billed);
    return { nanoUsd: costOf(guarded, tokens), isPriced: false };
  }

  /** Warns once that a budget is charged for a model without a price. */
  warnUnknown({ model, host }: ServedModel): void {
    const key = keyOf({ model, host });
    if (this.#warned.has(key) || this.#warned.size === MAX_WARNINGS) return;
    this.#warned.add(key);
    const { input, output } = this.#settings.unknownModel;
    this.#log.warn(
      "A model has no price: budgets are charged that of config.prices.unknownModel; add the model to config.prices.models",
      { model: model ?? "", host: host ?? "", input, output },
    );
  }

  #find(served: ServedModel, inputTokens: number): Omit<CachedPrices, "until"> {
    const now = this.#clock.now();
    const key = keyOf(served);
    const cached = this.#cache.get(key);
    if (cached !== undefined && now < cached.until) return cached;
    const { isTiered, ...found } = this.#lookUp(served, inputTokens, now);
    if (isTiered) return found;
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(key, { ...found, until: now + CACHE_MS });
    return found;
  }

  #lookUp({ model, host }: ServedModel, inputTokens: number, now: number) {
    const unknown = {
      prices: this.#settings.unknownModel,
      isPriced: false,
      isTiered: false,
    };
    if (model === undefined) return unknown;
    const own = this.#entries.find(([, pattern, from]) =>
      from <= now && pattern.test(model)
    );
    if (own !== undefined) {
      return { prices: own[0], isPriced: true, isTiered: false };
    }
    const shipped = shippedPrices({ model, host, inputTokens }, now);
    return shipped === undefined ? unknown : { ...shipped, isPriced: true };
  }
}

function keyOf({ model = "", host = "" }: ServedModel): string {
  return `${host} ${model}`;
}

function patternOf(model: string): RegExp {
  const parts = model.split("*").map((part) => RegExp.escape(part));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}
