import { duration, positiveDuration } from "../schema/duration.ts";
import { headerName } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

/** Spreads requests over the endpoints of a backend. */
export const loadBalancingSchema = s.refine(
  s.object({
    policy: s.field(
      "`LeastRequest` takes two endpoints at random and chooses the one with fewer requests.",
      s.optional(
        s.oneOf(["LeastRequest", "RoundRobin", "Random", "ConsistentHash"]),
      ),
      "LeastRequest",
    ),
    hashHeader: s.field(
      "Header whose value decides, for policy `ConsistentHash`.",
      s.optional(headerName),
    ),
    slowStart: s.field(
      "Time in which a new endpoint gets a growing share of the requests. Default, and `0s`: none.",
      s.optional(duration),
    ),
  }),
  s.rule(
    ({ policy, hashHeader }) =>
      (policy === "ConsistentHash") === (hashHeader !== undefined),
    '"ConsistentHash" and "hashHeader" require each other',
  ),
);

/** Settings for endpoints that fail: they get no requests for a while. */
export const ejectionSchema = s.object({
  connectFailures: s.field(
    "Connections in a row that cannot be opened; 0 for no limit.",
    s.optional(s.integer(0, 1000)),
    2,
  ),
  errors: s.field(
    "Responses with a status of 5xx, time-outs and closed connections in a row; 0 for no limit.",
    s.optional(s.integer(0, 1000)),
    5,
  ),
  latency: s.field(
    "Limit of the moving average of the time until the response begins. Default: none.",
    s.optional(positiveDuration),
  ),
  time: s.field(
    "Duration of an ejection; each further one in a row lasts twice as long.",
    s.optional(positiveDuration),
    "10s",
  ),
  maxTime: s.field(
    "Maximum duration of an ejection.",
    s.optional(positiveDuration),
    "5m",
  ),
  maxPercent: s.field(
    "Part of the endpoints that errors and latency may eject, in percent; connect failures eject all but the last.",
    s.optional(s.integer(0, 100)),
    50,
  ),
});
