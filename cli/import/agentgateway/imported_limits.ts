import type { SourceNode } from "../parts/source_node.ts";

const units: ReadonlyMap<string, string> = new Map(Object.entries({
  seconds: "Seconds",
  minutes: "Minutes",
  hours: "Hours",
  "1s": "Seconds",
  "60s": "Minutes",
  "1m": "Minutes",
  "1m0s": "Minutes",
  "60m": "Hours",
  "3600s": "Hours",
  "1h": "Hours",
}));

/** Imports limits of one process; `undefined` if none has a counterpart. */
export function importRateLimits(source: SourceNode) {
  if (source.has("conditional")) {
    source.reject("conditions of limits: write `when` of rateLimit.local");
    return undefined;
  }
  const local = source.items().flatMap(importLimit);
  return local.length === 0 ? undefined : { local };
}

function importLimit(source: SourceNode) {
  const kind = source.get("type")?.text() ?? "requests";
  const count = source.get("tokensPerFill")?.number() ??
    source.get("limit")?.number() ?? source.get("maxTokens")?.number();
  const most = source.get("maxTokens")?.number();
  const interval = source.get("fillInterval")?.text() ??
    source.get("unit")?.text() ?? "";
  const unit = units.get(interval.toLowerCase());
  if (unit === undefined || typeof count !== "number") {
    source.reject("expected a limit for each second, minute or hour");
    return [];
  }
  const burst = typeof most === "number" && most > count ? most - count : 0;
  return [{
    [kind === "tokens" ? "tokens" : "requests"]: count,
    unit,
    ...(burst > 0 && { burst }),
  }];
}
