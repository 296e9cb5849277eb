import type { TokenUsage } from "../../llm/usage/token_usage.ts";
import type { FinishedRequest } from "../log/finished_request.ts";

/** Sums of requests; plain data, so that threads can send it. */
export interface RequestSums {
  requests: number;
  /** Responses with 4xx. */
  clientErrors: number;
  /** Responses with 5xx. */
  serverErrors: number;
  inputTokens: number;
  outputTokens: number;
  /** Billionths of a US dollar, of models with a price. */
  nanoUsd: number;
  /** Responses whose tokens could not be counted. */
  uncounted: number;
}

/** Names of the sums. */
export const sumNames = [
  "requests",
  "clientErrors",
  "serverErrors",
  "inputTokens",
  "outputTokens",
  "nanoUsd",
  "uncounted",
] as const satisfies readonly (keyof RequestSums)[];

/** Creates sums of no requests. */
export function createSums(): RequestSums {
  return {
    requests: 0,
    clientErrors: 0,
    serverErrors: 0,
    inputTokens: 0,
    outputTokens: 0,
    nanoUsd: 0,
    uncounted: 0,
  };
}

/** Adds a request. */
export function addRequest(
  sums: RequestSums,
  { status, usage, uncounted }: Pick<
    FinishedRequest,
    "status" | "usage" | "uncounted"
  >,
): void {
  sums.requests++;
  if (status >= 500) sums.serverErrors++;
  else if (status >= 400) sums.clientErrors++;
  if (uncounted !== undefined) sums.uncounted++;
  if (usage !== undefined) addTokens(sums, usage);
}

/** Adds tokens and their cost. */
export function addTokens(
  sums: RequestSums,
  { inputTokens, outputTokens, isPriced, nanoUsd }: TokenUsage,
): void {
  sums.inputTokens += inputTokens;
  sums.outputTokens += outputTokens;
  if (isPriced) sums.nanoUsd += nanoUsd;
}

/** Adds the sums of other requests. */
export function mergeSums(
  into: RequestSums,
  from: Readonly<RequestSums>,
): void {
  for (const name of sumNames) into[name] += from[name];
}
