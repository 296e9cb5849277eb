import { trafficDimensions } from "../../src/telemetry/traffic/traffic_bucket.ts";
import { trafficRanges } from "../../src/telemetry/traffic/traffic_range.ts";
import { allocationSeconds, cpuRanges } from "../profiles/profiles.ts";
import type { IntegerRange } from "../http/query_parameters.ts";
import type { Endpoint } from "../http/router.ts";
import {
  failureLimit,
  requestLimit,
  requestStatuses,
} from "./requests_endpoint.ts";
import { taskLimit } from "./tasks_endpoint.ts";
import { traceCount, tracePort } from "./trace_endpoint.ts";

/** A query parameter. */
export interface ParameterText {
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
}

/** Description of a method of a path. */
export interface OperationText {
  readonly summary: string;
  readonly parameters?: readonly ParameterText[];
  /** Responses by status, without those that all endpoints share. */
  readonly responses: Readonly<Record<number, string>>;
  /** Content type of a 200 response; default plain text. */
  readonly type?: string;
}

const JSON_TYPE = "application/json";
const PPROF_TYPE = "application/octet-stream";

const trace: OperationText = {
  summary: "Traces the next requests as server-sent events",
  parameters: [
    text("filter", "CEL expression that selects requests"),
    text("expression", "Alias of filter"),
    integer("count", "Number of requests", traceCount),
    text("gateway", "Only requests of this gateway"),
    integer("port", "Only requests to this port", tracePort),
  ],
  responses: {
    200:
      "An event per step and a comment every second; ends after the last request",
    400: "Invalid parameter",
    503: "Too many concurrent traces",
  },
  type: "text/event-stream",
};

const metrics: OperationText = {
  summary: "Prometheus metrics",
  responses: { 200: "Metrics in the text format, version 0.0.4" },
};

/** Operations by OpenAPI method and path, such as `get /debug/requests/{id}`. */
export const operations: Readonly<Record<string, OperationText>> = {
  "get /": {
    summary: "Lists the endpoints as a page",
    responses: { 200: "The page" },
    type: "text/html",
  },
  "get /ui": {
    summary: "Web UI",
    responses: { 308: "The page is at ui/" },
  },
  "get /config_dump": {
    summary: "Active configuration with redacted secrets",
    responses: { 200: "The configuration" },
    type: JSON_TYPE,
  },
  "get /logging": {
    summary: "Active log level, default and per module",
    responses: { 200: "One line with the filter", 400: "Unexpected parameter" },
  },
  "post /logging": {
    summary: "Changes the log level of the given modules",
    parameters: [
      text("level", "Filter such as info,proxy=debug; may be repeated"),
      text("reset", "Resets to the configured filter first"),
    ],
    responses: {
      200: "One line with the filter",
      400: "Invalid level or parameter",
    },
  },
  "get /audit": {
    summary:
      "The last administrative changes, newest first: who, what, and the outcome",
    responses: { 200: "The changes" },
    type: JSON_TYPE,
  },
  "post /keys/refresh": {
    summary: "Fetches keys and metadata of identity providers again",
    responses: { 200: "Their state, with the error of each failed fetch" },
    type: JSON_TYPE,
  },
  "get /usage": {
    summary: "Use of LLM tokens and their cost by key, model or route",
    parameters: [
      text("by", "What to add up: key, model or route"),
      text("since", "Age of the oldest hour, such as 24h or 7d"),
    ],
    responses: { 200: "The sums, the largest first", 400: "Invalid parameter" },
    type: JSON_TYPE,
  },
  "post /limits/reset": {
    summary: "Makes budgets unused",
    parameters: [
      text("limit", "Only the limit of this name"),
      text("key", "Only budgets of this key"),
    ],
    responses: { 200: "The number of budgets", 400: "Invalid parameter" },
    type: JSON_TYPE,
  },
  "get /traffic": {
    summary:
      "Traffic of the last minutes or hours: rates, errors, latencies, tokens and cost, with sums by route, backend, model or key",
    parameters: [
      choice("range", "Span of time that ends now", trafficRanges, "15m"),
      choice("by", "Whose sums to list", trafficDimensions, "route"),
      text("name", "Only the traffic of this route, backend, model or key"),
    ],
    responses: { 200: "Curves and sums", 400: "Invalid parameter" },
    type: JSON_TYPE,
  },
  "get /requests": {
    summary:
      "Recent requests, newest first: those that failed, and a sample of the others",
    parameters: [
      choice("status", "Only requests with this outcome", requestStatuses),
      text("route", "Only routes with this in their name"),
      text("model", "Only models with this in their name"),
      text("key", "Only clients with this in their identity"),
      text("text", "Only requests with this in their line"),
      text(
        "since",
        "Only requests recorded since, in milliseconds since the epoch: `takenAt` of the last response",
      ),
      integer("limit", "Maximum number", requestLimit),
    ],
    responses: { 200: "The requests", 400: "Invalid parameter" },
    type: JSON_TYPE,
  },
  "get /requests/{id}": {
    summary: "Everything about one of them: cause, advice, attempts and trace",
    responses: { 200: "The report", 404: "No longer recorded" },
    type: JSON_TYPE,
  },
  "get /debug/trace": trace,
  "post /debug/trace": trace,
  "get /debug/requests": {
    summary: "Recent failed requests, newest first",
    parameters: [integer("limit", "Maximum number", failureLimit)],
    responses: { 200: "The requests", 400: "Limit out of range" },
    type: JSON_TYPE,
  },
  "get /debug/requests/{id}": {
    summary:
      "Explains why a request failed, by its x-request-id: cause, advice and trace",
    responses: { 200: "The report", 404: "No report with this id" },
    type: JSON_TYPE,
  },
  "get /debug/tasks": {
    summary:
      "Current activity: connections, requests, upstreams, refreshes, leases, watchers",
    parameters: [
      integer("limit", "Maximum number of connections and requests", taskLimit),
    ],
    responses: { 200: "The tasks", 400: "Limit out of range" },
    type: JSON_TYPE,
  },
  "get /debug/pprof/profile": {
    summary: "CPU profile for go tool pprof",
    parameters: [
      integer("seconds", "Sampling duration", cpuRanges.seconds),
      integer("frequency", "Samples per second", cpuRanges.frequency),
    ],
    responses: {
      200: "A gzipped profile, after the sampling duration",
      400: "Parameter out of range",
      409: "Another profile is in progress",
    },
    type: PPROF_TYPE,
  },
  "get /debug/pprof/heap": {
    summary:
      "Heap profile for go tool pprof: allocation sites of live memory, after a garbage collection; with seconds, of all allocations in that time",
    parameters: [
      integer(
        "seconds",
        "Time in which allocations are counted; later profiles of live memory begin anew",
        allocationSeconds,
      ),
    ],
    responses: {
      200: "A gzipped profile",
      400: "Parameter out of range",
      409: "Another profile is in progress",
    },
    type: PPROF_TYPE,
  },
  "get /memory": {
    summary: "Memory of the process and occupancy of bounded stores",
    responses: {
      200:
        "Bytes and counts. On Linux also smaps and cgroup, which are null in the executable: it may not read /proc and /sys",
    },
    type: JSON_TYPE,
  },
  "get /openapi.json": {
    summary: "OpenAPI document of these endpoints",
    responses: { 200: "The document" },
    type: JSON_TYPE,
  },
  "post /quitquitquit": {
    summary: "Shuts down gracefully after the requests in progress",
    responses: { 200: "Shutdown has started" },
  },
  "get /metrics": metrics,
  "get /stats/prometheus": metrics,
  "get /healthz/ready": {
    summary: "Readiness: whether to send traffic here",
    responses: { 200: "Ready", 503: "Starting, stuck or stopping" },
  },
  "get /healthz/live": {
    summary: "Liveness of the process",
    responses: { 200: "Alive" },
  },
};

/** Returns the description of an endpoint's method, if any. */
export function operationOf(
  { path }: Endpoint,
  method: string,
): OperationText | undefined {
  return operations[`${method.toLowerCase()} ${toTemplate(path)}`];
}

/** Converts `/debug/requests/*` to an OpenAPI path. */
export function toTemplate(path: string): string {
  return path.replace("*", "{id}");
}

function text(name: string, description: string): ParameterText {
  return { name, description, schema: { type: "string" } };
}

function choice(
  name: string,
  description: string,
  values: readonly string[],
  or?: string,
): ParameterText {
  const schema = {
    type: "string",
    enum: values,
    ...(or !== undefined && { default: or }),
  };
  return { name, description, schema };
}

function integer(
  name: string,
  description: string,
  { from, to, or }: IntegerRange<number | undefined>,
): ParameterText {
  const schema = {
    type: "integer",
    minimum: from,
    maximum: to,
    ...(or !== undefined && { default: or }),
  };
  return { name, description, schema };
}
