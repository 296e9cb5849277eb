import type { FinishedRequest } from "../log/finished_request.ts";
import {
  addToBin,
  createHistogram,
  type Histogram,
  mergeHistogram,
} from "./histogram.ts";
import {
  addRequest,
  createSums,
  mergeSums,
  type RequestSums,
} from "./request_sums.ts";

/** Sums of requests and their durations; plain data, so that threads can send it. */
export interface TrafficPoint extends RequestSums {
  /** From acceptance to the last byte. */
  readonly durations: Histogram;
  /** From acceptance to the first token. */
  readonly firstTokens: Histogram;
}

/** Creates sums of no requests. */
export function createPoint(): TrafficPoint {
  return {
    ...createSums(),
    durations: createHistogram(),
    firstTokens: createHistogram(),
  };
}

/** Adds a request. @param durationBin Its bin, as that of the first token; negative without one. */
export function countRequest(
  point: TrafficPoint,
  request: FinishedRequest,
  durationBin: number,
  firstTokenBin: number,
): void {
  addRequest(point, request);
  if (durationBin >= 0) addToBin(point.durations, durationBin, 1);
  if (firstTokenBin >= 0) addToBin(point.firstTokens, firstTokenBin, 1);
}

/** Adds the sums of other requests. */
export function mergePoint(into: TrafficPoint, from: TrafficPoint): void {
  mergeSums(into, from);
  mergeHistogram(into.durations, from.durations);
  mergeHistogram(into.firstTokens, from.firstTokens);
}
