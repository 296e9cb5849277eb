import type { FinishedRequest } from "../log/finished_request.ts";
import { binOf } from "./histogram.ts";
import {
  createNamedPoints,
  mergeNamedPoints,
  type NamedPoints,
  pointOf,
} from "./named_points.ts";
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

/** Adds another bucket. */
export function mergeBucket(into: TrafficBucket, from: TrafficBucket): void {
  mergePoint(into.total, from.total);
  for (const dimension of trafficDimensions) {
    mergeNamedPoints(into.by[dimension], from.by[dimension]);
  }
}
