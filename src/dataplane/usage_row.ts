import {
  apiKeyMetadata,
  basicAuthUser,
  jwtClaims,
} from "../policy/authentication/request_identity.ts";
import type { Exchange } from "../proxy/exchange.ts";
import { HOUR_MS, type UsageRow } from "../ratelimit/usage/usage_book.ts";
import type { FinishedRequest } from "../telemetry/log/finished_request.ts";

/** Returns what a finished request used; `undefined` if no tokens were counted or expected. */
export function usageRow(
  { time, route = "", usage, uncounted }: FinishedRequest,
  exchange: Pick<Exchange, "slots">,
): UsageRow | undefined {
  if (usage === undefined && uncounted === undefined) return undefined;
  return {
    hour: Math.floor(time / HOUR_MS) * HOUR_MS,
    key: identityOf(exchange),
    model: usage?.responseModel ?? uncounted?.model ?? "",
    route,
    requests: 1,
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    nanoUsd: usage?.cost.isKnown === true ? usage.cost.nanoUsd : 0,
    uncounted: uncounted === undefined ? 0 : 1,
  };
}

/** Returns the subject of the token, the metadata of the API key, or the name of the user; empty without identity. */
function identityOf({ slots }: Pick<Exchange, "slots">): string {
  const subject = slots?.get(jwtClaims)?.["sub"];
  if (typeof subject === "string") return subject;
  const metadata = slots?.get(apiKeyMetadata);
  if (metadata !== undefined) {
    return Object.entries(metadata).map(([name, value]) =>
      `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`
    ).join(",");
  }
  const user = slots?.get(basicAuthUser)?.["username"];
  return typeof user === "string" ? user : "";
}
