import type { Clock } from "../../base/clock.ts";
import type { HeaderList } from "../../http/header_list.ts";

/** Part of a rate limit that a provider has left, when it said so. */
export interface Quota {
  /** 0 to 1. */
  readonly share: number;
  /** Monotonic times, in milliseconds. */
  readonly readAt: number;
  /** When all of it is there again. */
  readonly resetAt: number;
}

/** Most providers count by the minute. */
const WINDOW_MS = 60_000;
/** Later resets are not believed. */
const MAX_WINDOW_MS = 86_400_000;

/** Names of the fields about one limit. */
interface LimitFields {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

/** Fields of OpenAI and compatible providers, and of Anthropic. */
const limits: readonly LimitFields[] = [
  ...["requests", "tokens"].map((kind) => ({
    limit: `x-ratelimit-limit-${kind}`,
    remaining: `x-ratelimit-remaining-${kind}`,
    reset: `x-ratelimit-reset-${kind}`,
  })),
  ...["requests", "tokens", "input-tokens", "output-tokens"].map((kind) => ({
    limit: `anthropic-ratelimit-${kind}-limit`,
    remaining: `anthropic-ratelimit-${kind}-remaining`,
    reset: `anthropic-ratelimit-${kind}-reset`,
  })),
];

/** Reads the limit that a response leaves least of; `undefined` if it says nothing about limits. */
export function readQuota(
  headers: HeaderList,
  clock: Pick<Clock, "now" | "monotonic">,
): Quota | undefined {
  let least: Quota | undefined;
  for (const fields of limits) {
    const remaining = readCount(headers, fields.remaining);
    if (remaining === undefined) continue;
    const limit = readCount(headers, fields.limit);
    // How much is much, is known only with the limit.
    if (limit === undefined && remaining > 0) continue;
    const share = Math.min(1, remaining / Math.max(1, limit ?? 1));
    if (least !== undefined && least.share <= share) continue;
    const readAt = clock.monotonic();
    const resetMs = readReset(headers.get(fields.reset), clock) ?? WINDOW_MS;
    least = { share, readAt, resetAt: readAt + resetMs };
  }
  return least;
}

/** Returns the time until a limit that is used up has something left, in milliseconds; `undefined` if none is. */
export function readExhaustedMs(
  headers: HeaderList,
  clock: Pick<Clock, "now" | "monotonic">,
): number | undefined {
  const quota = readQuota(headers, clock);
  return quota?.share === 0 ? quota.resetAt - quota.readAt : undefined;
}

/** Returns the part that is left by now: limits fill up steadily until their reset. */
export function shareLeft(quota: Quota | undefined, now: number): number {
  if (quota === undefined || now >= quota.resetAt) return 1;
  const { share, readAt, resetAt } = quota;
  return share + (1 - share) * (now - readAt) / (resetAt - readAt);
}

function readCount(headers: HeaderList, name: string): number | undefined {
  const text = headers.get(name);
  return text !== undefined && /^[0-9]{1,15}$/.test(text)
    ? Number(text)
    : undefined;
}

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Reads a duration such as `6m0s` or `20ms`, a number of seconds, or a date of RFC 3339. */
function readReset(
  text: string | undefined,
  clock: Pick<Clock, "now">,
): number | undefined {
  if (text === undefined || text.length > 64) return undefined;
  const milliseconds = /^\d+(?:\.\d+)?$/.test(text)
    ? Number(text) * 1000
    : /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text)
    ? sumOf(text)
    : Date.parse(text) - clock.now();
  if (Number.isNaN(milliseconds)) return undefined;
  return Math.min(Math.max(0, milliseconds), MAX_WINDOW_MS);
}

function sumOf(text: string): number {
  let sum = 0;
  for (const [, count, unit = ""] of text.matchAll(/([\d.]+)(ms|s|m|h|d)/g)) {
    sum += Number(count) * (units[unit] ?? 0);
  }
  return sum;
}
