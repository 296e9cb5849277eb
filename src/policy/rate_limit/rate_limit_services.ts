import type { PriceBook } from "../../llm/cost/price_book.ts";
import type { GlobalLimiter } from "../../ratelimit/limiter/global_limiter.ts";
import type { CounterLease } from "../../ratelimit/local/counter_store.ts";
import type { BackendAccess } from "../contract/policy_services.ts";
import { defineSlot } from "../contract/slot.ts";
import type { GlobalRateLimit } from "./rate_limit_schema.ts";

/** Services that `rateLimit` needs. */
export interface RateLimitServices {
  /** Budgets of this process. */
  readonly counters: Pick<CounterLease, "limit">;
  /** Knows what tokens cost. */
  readonly prices: Pick<
    PriceBook,
    "isLoaded" | "load" | "price" | "warnUnknown"
  >;
  /** Returns the limiter of a `global` block; `undefined` when this process does not have that kind. */
  globalLimiter(
    config: GlobalRateLimit,
    options: BackendAccess,
  ): GlobalLimiter | undefined;
}

/** Slot of the services that `rateLimit` needs. */
export const rateLimitServices = defineSlot<RateLimitServices>("rateLimit");
