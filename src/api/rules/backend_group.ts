import { positiveDuration } from "../schema/duration.ts";
import * as s from "../schema/schema.ts";

/** Ways to choose one of several backends. */
const groupPolicies = [
  "Weighted",
  "LeastLatency",
  "LowestCost",
  "MostQuota",
] as const;

/** Responses after which a request goes to another backend, beside failures. */
const failoverReasons = ["ContentFilter"] as const;

/** Fields of a rule about its backends as a group. */
export const groupEntries = {
  loadBalancing: s.field(
    "How one of several backends of the same priority is chosen.",
    s.optional(s.object({
      policy: s.field(
        "`Weighted`: at random, in proportion to `weight`. `LeastLatency`: of two at random, the one that responds sooner. `LowestCost`: the LLM provider with the lowest price for the model. `MostQuota`: at random, in proportion to what rate limits of LLM providers have left.",
        s.optional(s.oneOf(groupPolicies)),
        "Weighted",
      ),
    })),
  ),
  failover: s.field(
    "Further reasons for which a request goes to another backend.",
    s.optional(s.object({
      on: s.field(
        "`ContentFilter`: an LLM provider withholds the answer.",
        s.optional(
          s.list(s.oneOf(failoverReasons), { max: failoverReasons.length }),
        ),
      ),
    })),
  ),
  hedging: s.field(
    "Sends a request to a second backend as well when the first is late. Every request may be processed twice. Default: none.",
    s.optional(s.object({
      delay: s.field(
        "Time without a response, and without the first event of a stream, after which the second backend gets the request.",
        positiveDuration,
      ),
    })),
  ),
};
