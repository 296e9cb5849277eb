import type { FinishedRequest } from "../log/finished_request.ts";
import type { TokenUsage } from "../../llm/usage/token_usage.ts";
import { addToBin, binOf } from "./histogram.ts";
import {
  createNamedPoints,
  mergeNamedPoints,
  type NamedPoints,
  pointOf,
} from "./named_points.ts";
import { addRequest } from "./request_sums.ts";
import {
  countRequest,
  createPoint,
  mergePoint,
  type TrafficPoint,
} from "./traffic_point.ts";

/** Parts of the gateway, and of requests, by which traffic is counted. */
export const trafficDimensions = [
  "route",
  "backend",
  "arm",
  "model",
  "key",
  "server",
  "tool",
] as const;

/** One of `trafficDimensions`. */
export type TrafficDimension = typeof trafficDimensions[number];

/** The requests that ended within a span of time; plain data, so that threads can send it. */
export interface TrafficBucket {
  /** Start of the span, in milliseconds since the epoch. */
  readonly start: number;
  readonly total: TrafficPoint;
  readonly by: Readonly<Record<TrafficDimension, NamedPoints>>;
}

/** Clients choose models and names of keys. */
const MAX_NAME_LENGTH = 200;

/** Creates a bucket without requests. */
export function createBucket(start: number): TrafficBucket {
  return {
    start,
    total: createPoint(),
    by: {
      route: createNamedPoints(),
      backend: createNamedPoints(),
      arm: createNamedPoints(),
      model: createNamedPoints(),
      key: createNamedPoints(),
      server: createNamedPoints(),
      tool: createNamedPoints(),
    },
  };
}

/** Adds a request. */
export function countInBucket(
  { total, by }: TrafficBucket,
  request: FinishedRequest,
): void {
  const { route = "", backend = "", client, usage, uncounted, mcp } = request;
  const { durationMs, firstTokenMs } = request;
  const duration = durationMs === undefined ? -1 : binOf(durationMs);
  const firstToken = firstTokenMs === undefined ? -1 : binOf(firstTokenMs);
  const count = (point: TrafficPoint) =>
    countRequest(point, request, duration, firstToken);
  count(total);
  count(pointOf(by.route, route));
  count(pointOf(by.backend, backend));
  if (route !== "" && backend !== "") {
    count(pointOf(by.arm, `${route}: ${backend}`));
  }
  const model = usage?.responseModel ?? uncounted?.model;
  if (model !== undefined) {
    count(pointOf(by.model, model.slice(0, MAX_NAME_LENGTH)));
  }
  if (client !== "") {
    count(pointOf(by.key, client.slice(0, MAX_NAME_LENGTH)));
  }
  if (mcp?.server === undefined) return;
  count(pointOf(by.server, mcp.server));
  if (mcp.tool !== undefined) {
    count(pointOf(by.tool, mcp.tool.name.slice(0, MAX_NAME_LENGTH)));
  }
}

/** The response of an LLM to the copy of a request. */
export interface CopiedRequest {
  /** Time of the response, in milliseconds since the epoch. */
  readonly time: number;
  readonly route: string;
  /** Backend that got the copy. */
  readonly backend: string;
  /** Status, or the code of an error. */
  readonly status: string;
  /** Time until the head of the response, or the error. */
  readonly latencyMs: number;
  /** Time until the first output of a stream. */
  readonly firstTokenMs: number | undefined;
  readonly usage: TokenUsage | undefined;
}

/** Adds a copy, which counts among the arms of its route and nowhere else: no client has sent it. */
export function countCopy(
  { by }: TrafficBucket,
  { route, backend, status, usage, latencyMs, firstTokenMs }: CopiedRequest,
): void {
  const point = pointOf(by.arm, `${route}: ${backend} (mirror)`);
  const number = /^\d{3}$/.test(status) ? Number(status) : 599;
  addRequest(point, { status: number, usage, uncounted: undefined });
  addToBin(point.durations, binOf(latencyMs), 1);
  if (firstTokenMs === undefined) return;
  addToBin(point.firstTokens, binOf(firstTokenMs), 1);
}

/** Adds another bucket. */
export function mergeBucket(into: TrafficBucket, from: TrafficBucket): void {
  mergePoint(into.total, from.total);
  for (const dimension of trafficDimensions) {
    mergeNamedPoints(into.by[dimension], from.by[dimension]);
  }
}
