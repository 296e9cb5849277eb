import {
  apiKeyMetadata,
  basicAuthUser,
  jwtClaims,
} from "../policy/authentication/request_identity.ts";
import type { Exchange } from "../proxy/exchange.ts";
import {
  HOUR_MS,
  type UsageRow,
  type UsageSum,
} from "../ratelimit/usage/usage_book.ts";
import type {
  FinishedRequest,
  FinishedUsage,
} from "../telemetry/log/finished_request.ts";

/** Returns what a finished request used; `undefined` if no tokens were counted or expected. */
export function usageRow(
  { time, route, usage, uncounted }: FinishedRequest,
  exchange: Pick<Exchange, "slots" | "meter">,
): UsageRow | undefined {
  if (usage === undefined && uncounted === undefined) return undefined;
  const counted = exchange.meter?.isBooked === true ? undefined : usage;
  const model = uncounted === undefined
    ? usage?.responseModel
    : uncounted.model;
  const row = rowOf(exchange, { time, route, model }, counted);
  row.requests = 1;
  if (uncounted !== undefined) row.uncounted = 1;
  return row;
}

/** Returns a part of what a request uses that is still open. */
export function partialRow(
  exchange: Pick<Exchange, "slots" | "routed">,
  usage: FinishedUsage,
  time: number,
): UsageRow {
  const route = exchange.routed.route?.name;
  const model = usage.responseModel;
  return rowOf(exchange, { time, route, model }, usage);
}

function rowOf(
  exchange: Pick<Exchange, "slots">,
  { time, route = "", model = "" }: {
    readonly time: number;
    readonly route: string | undefined;
    readonly model: string | undefined;
  },
  usage: FinishedUsage | undefined,
): UsageSum {
  return {
    hour: Math.floor(time / HOUR_MS) * HOUR_MS,
    key: identityOf(exchange),
    model,
    route,
    requests: 0,
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    nanoUsd: usage?.cost.isKnown === true ? usage.cost.nanoUsd : 0,
    uncounted: 0,
  };
}

/** Returns the subject of the token, the metadata of the API key, or the name of the user; empty without identity. */
export function identityOf({ slots }: Pick<Exchange, "slots">): string {
  if (slots === undefined) return "";
  const subject = slots.get(jwtClaims)?.["sub"];
  if (typeof subject === "string") return subject;
  const metadata = slots.get(apiKeyMetadata);
  if (metadata !== undefined) {
    return keyNames.getOrInsertComputed(metadata, nameOfKey);
  }
  const user = slots.get(basicAuthUser)?.["username"];
  return typeof user === "string" ? user : "";
}

/** Requests with the same key share its metadata. */
const keyNames = new WeakMap<object, string>();

function nameOfKey(metadata: object): string {
  return Object.entries(metadata).map(([name, value]) =>
    `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`
  ).join(",");
}
