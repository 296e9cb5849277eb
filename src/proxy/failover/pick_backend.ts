import type { Clock } from "../../base/clock.ts";
import type { PriceBook } from "../../llm/cost/price_book.ts";
import type { RequestedModel } from "../../policy/expressions/llm_variable.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type { GroupChoice, WeightedBackend } from "../../snapshot/snapshot.ts";
import { priceHostOf } from "../metering/meter/usage_meter.ts";
import { modelAt, type ModelStates } from "./model_states.ts";

/** Input tokens for each output token by which prices are compared, as usual in comparisons of models. */
const comparedTokens = { inputTokens: 3000, outputTokens: 1000 };

/** Dependencies of the choice. */
export interface PickOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly models: ModelStates;
  /** Must be loaded for `LowestCost`. */
  readonly prices: Pick<PriceBook, "price">;
}

/** A backend that was chosen, and why: `"120 ms"`. */
interface Picked {
  readonly chosen: WeightedBackend | undefined;
  /** Compared values, by the key of each backend; empty for weights. */
  readonly compared: Readonly<Record<string, string>>;
}

/** Chooses among backends of one priority that can get the request. */
export function pickBackend(
  candidates: readonly WeightedBackend[],
  policy: GroupChoice["policy"],
  requested: RequestedModel,
  options: PickOptions,
): Picked {
  const { random } = options;
  switch (policy) {
    case "Weighted":
      return { chosen: pickByWeight(candidates, random), compared: {} };
    case "LeastLatency":
      return pickFastest(candidates, requested, options);
    case "LowestCost":
      return pickCheapest(candidates, requested, options);
    case "MostQuota":
      return pickByQuota(candidates, requested, options);
  }
}

function pickByWeight(
  candidates: readonly WeightedBackend[],
  random: () => number,
  shareOf: (each: WeightedBackend) => number = () => 1,
): WeightedBackend | undefined {
  const weights = candidates.map((each) => each.weight * shareOf(each));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let ticket = random() * total;
  return candidates.find((_, index) => {
    const weight = weights[index] ?? 0;
    if (ticket < weight) return true;
    ticket -= weight;
    return false;
  });
}

/** Takes two backends at random and chooses the one whose next response should begin sooner. */
function pickFastest(
  candidates: readonly WeightedBackend[],
  { model, isStreaming }: RequestedModel,
  { clock, random, models }: PickOptions,
): Picked {
  // Weights count in the comparison.
  const evenly = ({ weight }: WeightedBackend) => 1 / weight;
  const first = pickByWeight(candidates, random, evenly);
  const others = candidates.filter((each) => each !== first);
  const second = pickByWeight(others, random, evenly);
  if (first === undefined || second === undefined) {
    return { chosen: first, compared: {} };
  }
  const now = clock.monotonic();
  const [one, other] = [first, second].map(({ backend, weight }) => {
    if (backend === undefined) return { score: Infinity, text: [] };
    const state = models.of(backend, model);
    const latencyMs = state.latencyMs(isStreaming, now);
    const text = latencyMs === 0
      ? "not measured"
      : `${Math.round(latencyMs)} ms`;
    const load = state.load === 0 ? "" : `, ${state.load} under way`;
    return {
      score: latencyMs * (state.load + 1) / weight,
      text: [[backend.key, text + load]] as const,
    };
  });
  const isFirst = (one?.score ?? 0) <= (other?.score ?? 0);
  const compared = [...one?.text ?? [], ...other?.text ?? []];
  return {
    chosen: isFirst ? first : second,
    compared: Object.fromEntries(compared),
  };
}

/** Chooses the lowest price; a model without a price comes last, and of equal ones the weight decides. */
function pickCheapest(
  candidates: readonly WeightedBackend[],
  { model }: RequestedModel,
  { random, prices }: PickOptions,
): Picked {
  const priced = candidates.map((each) => ({
    each,
    nanoUsd: each.backend === undefined
      ? Infinity
      : priceAt(each.backend, model, prices),
  }));
  const least = Math.min(...priced.map(({ nanoUsd }) => nanoUsd));
  const cheapest = priced.filter(({ nanoUsd }) => nanoUsd === least);
  const compared = priced.flatMap(({ each: { backend }, nanoUsd }) =>
    backend === undefined ? [] : [[backend.key, describePrice(nanoUsd)]]
  );
  return {
    chosen: pickByWeight(cheapest.map(({ each }) => each), random),
    compared: Object.fromEntries(compared),
  };
}

function priceAt(
  backend: Backend,
  requested: string | undefined,
  prices: PickOptions["prices"],
): number {
  const model = modelAt(backend, requested);
  const served = { model, host: priceHostOf(backend) };
  const { nanoUsd, isPriced } = prices.price(served, comparedTokens);
  return isPriced ? nanoUsd : Infinity;
}

/** Formats what three million tokens of input and one of output cost. */
function describePrice(nanoUsd: number): string {
  return nanoUsd === Infinity
    ? "no price"
    : `$${(nanoUsd / 1e6).toFixed(2)} for 3M in, 1M out`;
}

function pickByQuota(
  candidates: readonly WeightedBackend[],
  { model }: RequestedModel,
  { clock, random, models }: PickOptions,
): Picked {
  const now = clock.monotonic();
  const leftAt = ({ backend }: WeightedBackend) =>
    backend === undefined ? 1 : models.of(backend, model).quotaLeft(now);
  const compared = candidates.flatMap((each) =>
    each.backend === undefined
      ? []
      : [[each.backend.key, `${Math.round(leftAt(each) * 100)}% left`]]
  );
  return {
    chosen: pickByWeight(candidates, random, leftAt) ??
      pickByWeight(candidates, random),
    compared: Object.fromEntries(compared),
  };
}
