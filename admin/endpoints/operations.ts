import { failureLimit } from "./failures_endpoint.ts";
import { cpuRanges } from "../profiles/profiles.ts";
import type { IntegerRange } from "../query_numbers.ts";
import type { Endpoint } from "../router.ts";
import { taskLimit } from "./tasks_endpoint.ts";
import { traceCount, tracePort } from "./trace_endpoint.ts";

/** A parameter in the query. */
export interface ParameterText {
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
}

/** What is to be said of a method of a path. */
export interface OperationText {
  readonly summary: string;
  readonly parameters?: readonly ParameterText[];
  /** By status, beside those that every endpoint has. */
  readonly answers: Readonly<Record<number, string>>;
  /** Of a 200; plain text when left out. */
  readonly type?: string;
}

const JSON_TYPE = "application/json";
const PPROF_TYPE = "application/octet-stream";

const trace: OperationText = {
  summary: "What happens to the next request, as server-sent events",
  parameters: [
    text("filter", "CEL: only requests for which it is true"),
    text("expression", "The same as filter"),
    integer("count", "How many requests", traceCount),
    text("gateway", "Only those of this gateway"),
    integer("port", "Only those that arrive at this port", tracePort),
  ],
  answers: {
    200: "One event for each step; a comment every second; ends by itself",
    400: "A parameter cannot be read",
    503: "Too many watch already",
  },
  type: "text/event-stream",
};

const metrics: OperationText = {
  summary: "Metrics for Prometheus",
  answers: { 200: "The text format, version 0.0.4" },
};

/** By method and path as OpenAPI writes them, such as `get /debug/requests/{id}`. */
export const operations: Readonly<Record<string, OperationText>> = {
  "get /": {
    summary: "A page that lists the endpoints",
    answers: { 200: "The page" },
    type: "text/html",
  },
  "get /ui": {
    summary: "Web UI: all of this in a page",
    answers: { 308: "The page is at ui/" },
  },
  "get /config_dump": {
    summary: "Configuration in force, secrets redacted",
    answers: { 200: "The configuration" },
    type: JSON_TYPE,
  },
  "get /logging": {
    summary: "Log level in force, as a whole and by module",
    answers: { 200: "One line with the filter", 400: "There is a parameter" },
  },
  "post /logging": {
    summary: "Changes the log level; what is not named stays",
    parameters: [
      text("level", "Such as info,proxy=debug; may be repeated"),
      text("reset", "Returns to the configured filter first"),
    ],
    answers: {
      200: "One line with the filter",
      400: "A level or a parameter that there is not",
    },
  },
  "get /debug/trace": trace,
  "post /debug/trace": trace,
  "get /debug/requests": {
    summary: "Requests that failed, the newest first",
    parameters: [integer("limit", "How many", failureLimit)],
    answers: { 200: "The requests", 400: "The limit is out of range" },
    type: JSON_TYPE,
  },
  "get /debug/requests/{id}": {
    summary:
      "Why a request failed, by its x-request-id: cause, advice and trace",
    answers: { 200: "The report", 404: "It is not remembered" },
    type: JSON_TYPE,
  },
  "get /debug/tasks": {
    summary:
      "What is going on now: connections, requests, upstreams, refreshes, leases, watchers",
    parameters: [
      integer("limit", "Connections and requests to list", taskLimit),
    ],
    answers: { 200: "The tasks", 400: "The limit is out of range" },
    type: JSON_TYPE,
  },
  "get /debug/pprof/profile": {
    summary: "Where processor time goes, for go tool pprof",
    parameters: [
      integer("seconds", "How long to sample", cpuRanges.seconds),
      integer("frequency", "Samples per second", cpuRanges.frequency),
    ],
    answers: {
      200: "A gzipped profile, when the time is over",
      400: "A parameter is out of range",
      409: "Another profile is being taken",
    },
    type: PPROF_TYPE,
  },
  "get /debug/pprof/heap": {
    summary:
      "Where memory in use was allocated, for go tool pprof; collects garbage first",
    answers: { 200: "A gzipped profile" },
    type: PPROF_TYPE,
  },
  "get /memory": {
    summary: "Memory of the process, and how full our own stores are",
    answers: {
      200:
        "Bytes and counts. On Linux also smaps and cgroup, null where the runtime may not read /proc and /sys: in the executable",
    },
    type: JSON_TYPE,
  },
  "get /openapi.json": {
    summary: "All of this as an OpenAPI document",
    answers: { 200: "The document" },
    type: JSON_TYPE,
  },
  "post /quitquitquit": {
    summary: "Shuts down gracefully: requests in progress are finished first",
    answers: { 200: "It begins" },
  },
  "get /metrics": metrics,
  "get /stats/prometheus": metrics,
  "get /healthz/ready": {
    summary: "Whether traffic should be sent here",
    answers: { 200: "Yes", 503: "Not yet, or not any more" },
  },
  "get /healthz/live": {
    summary: "Whether the process works",
    answers: { 200: "Yes" },
  },
};

/** What is to be said of a method of an endpoint; nothing of one that the table lacks. */
export function operationOf(
  { path }: Endpoint,
  method: string,
): OperationText | undefined {
  return operations[`${method.toLowerCase()} ${toTemplate(path)}`];
}

/** `/debug/requests/*` as OpenAPI writes it. */
export function toTemplate(path: string): string {
  return path.replace("*", "{id}");
}

function text(name: string, description: string): ParameterText {
  return { name, description, schema: { type: "string" } };
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
