import type { FinishedRequest } from "../log/finished_request.ts";
import {
  addToBin,
  copyHistogram,
  createHistogram,
  type Histogram,
  mergeHistogram,
} from "./histogram.ts";

/** Sums of requests; plain data, so that threads can send it. */
export interface TrafficPoint {
  requests: number;
  /** Responses with 4xx. */
  clientErrors: number;
  /** Responses with 5xx. */
  serverErrors: number;
  inputTokens: number;
  outputTokens: number;
  /** Billionths of a US dollar. */
  nanoUsd: number;
  /** From acceptance to the last byte. */
  readonly durations: Histogram;
  /** From acceptance to the first token. */
  readonly firstTokens: Histogram;
}

/** Creates sums of no requests. */
export function createPoint(): TrafficPoint {
  return {
    requests: 0,
    clientErrors: 0,
    serverErrors: 0,
    inputTokens: 0,
    outputTokens: 0,
    nanoUsd: 0,
    durations: createHistogram(),
    firstTokens: createHistogram(),
  };
}

/** Copies sums. */
export function copyPoint(point: TrafficPoint): TrafficPoint {
  return {
    ...point,
    durations: copyHistogram(point.durations),
    firstTokens: copyHistogram(point.firstTokens),
  };
}

/** Adds a request. @param durationBin Its bin, as that of the first token; negative without one. */
export function countRequest(
  point: TrafficPoint,
  { status, usage }: FinishedRequest,
  durationBin: number,
  firstTokenBin: number,
): void {
  point.requests++;
  if (status >= 500) point.serverErrors++;
  else if (status >= 400) point.clientErrors++;
  if (durationBin >= 0) addToBin(point.durations, durationBin, 1);
  if (firstTokenBin >= 0) addToBin(point.firstTokens, firstTokenBin, 1);
  if (usage === undefined) return;
  point.inputTokens += usage.inputTokens;
  point.outputTokens += usage.outputTokens;
  if (usage.cost.isKnown) point.nanoUsd += usage.cost.nanoUsd;
}

/** Adds the sums of other requests. */
export function mergePoint(into: TrafficPoint, from: TrafficPoint): void {
  into.requests += from.requests;
  into.clientErrors += from.clientErrors;
  into.serverErrors += from.serverErrors;
  into.inputTokens += from.inputTokens;
  into.outputTokens += from.outputTokens;
  into.nanoUsd += from.nanoUsd;
  mergeHistogram(into.durations, from.durations);
  mergeHistogram(into.firstTokens, from.firstTokens);
}
