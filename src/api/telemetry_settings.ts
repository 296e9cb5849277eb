import { LogFilterError, parseLogFilter } from "../base/log/log_filter.ts";
import { duration, positiveDuration } from "./schema/duration.ts";
import { celExpression, headerName, httpUrl } from "./schema/scalars.ts";
import * as s from "./schema/schema.ts";

const MAX_ATTRIBUTES = 64;

const attributeName = s.named(
  "attribute name",
  s.pattern(
    /^[A-Za-z_][A-Za-z0-9_.\-/]*$/,
    'a name such as "deployment.environment.name"',
    256,
  ),
);

const collectorUrl = s.refine(
  httpUrl,
  s.rule(
    (url) => {
      const { search, hash, username } = new URL(url);
      return search === "" && hash === "" && username === "";
    },
    "a collector URL cannot have user, query or fragment; use `headers` for credentials",
  ),
);

/** The OpenTelemetry collector: `config.otlp`. */
export const otlpSchema = s.object({
  endpoint: s.field(
    "URL of the collector, such as `http://otel-collector:4318`, or port 4317 for gRPC. With `http`, the gateway appends `/v1/traces`, `/v1/metrics` or `/v1/logs`.",
    collectorUrl,
  ),
  protocol: s.field(
    "`http`: OTLP over HTTP with protobuf bodies. `grpc`: OTLP over gRPC.",
    s.withDefault(s.oneOf(["http", "grpc"]), "http"),
  ),
  headers: s.field(
    "Headers of each export, such as the key of a service.",
    s.withDefault(s.map(headerName, s.secret()), {}),
  ),
  caFile: s.field(
    "File with the PEM certificates that the collector is verified against, in place of those of the system; read at startup, relative to the process's working directory.",
    s.optional(s.text(4096)),
  ),
  timeout: s.field(
    "Time limit of one export.",
    s.withDefault(positiveDuration, "10s"),
  ),
  resourceAttributes: s.field(
    "Attributes of this gateway, beside `service.name` (`gateway`), `service.version` and `service.instance.id`, or in place of them.",
    s.withDefault(
      s.map(attributeName, s.withPrivacy("text", s.text(1024))),
      {},
    ),
  ),
});

const chance = s.union([
  s.refine(
    s.number(),
    s.rule(
      (value) => value >= 0 && value <= 1,
      "expected a number from 0 to 1",
    ),
  ),
  celExpression,
]);

const attributes = s.refine(
  s.map(attributeName, celExpression),
  s.rule(
    (value) => Object.keys(value).length <= MAX_ATTRIBUTES,
    `expected at most ${MAX_ATTRIBUTES} attributes`,
  ),
);

/** Spans of requests: `config.tracing`. */
export const tracingSchema = s.object({
  randomSampling: s.field(
    "Requests without a trace of their client that are sampled: a part from 0 to 1, or an expression over `request`, `source` and `env` whose value is a boolean or such a number.",
    s.withDefault(chance, 1),
  ),
  clientSampling: s.field(
    "The same for requests whose client samples them (`traceparent`). Those that their client does not sample never are.",
    s.withDefault(chance, 1),
  ),
  attributes: s.field(
    "Further attributes of the spans of requests, by expressions that see request and response. A request for which an expression errors does not have the attribute.",
    s.withDefault(attributes, {}),
  ),
});

/** Metrics: `config.metrics`. */
export const metricsSchema = s.object({
  otlpInterval: s.field(
    "Time between two exports of all metrics to `config.otlp`; `0s` exports none.",
    s.withDefault(duration, "0s"),
  ),
});

/** The access log: `config.accessLog`. */
export const accessLogSchema = s.object({
  enabled: s.field("Logs each request.", s.withDefault(s.boolean(), true)),
  format: s.field(
    "`text` or `json`: a line on standard output. `otlp`: a log record for the collector of `config.otlp`. Default: `logging.format`.",
    s.optional(s.oneOf(["text", "json", "otlp"])),
  ),
  filter: s.field(
    "Logs only requests for which this expression is true, such as `response.code >= 400`.",
    s.optional(celExpression),
  ),
  add: s.field(
    "Further fields, by expressions that see request and response, such as `user: jwt.sub`. A request for which an expression errors does not have the field.",
    s.withDefault(attributes, {}),
  ),
  remove: s.field(
    "Fields to leave out, such as `src.addr`.",
    s.withDefault(s.list(s.text(256), { max: MAX_ATTRIBUTES }), []),
  ),
});

/** A log filter, such as `info,http=debug`. */
const logFilter = s.named(
  "log filter",
  s.refine(
    s.string(),
    s.rule(
      (text) => logFilterFault(text) === undefined,
      (text) => logFilterFault(text) ?? "",
    ),
  ),
);

function logFilterFault(text: string): string | undefined {
  try {
    parseLogFilter(text);
    return undefined;
  } catch (error) {
    if (error instanceof LogFilterError) return error.message;
    throw error;
  }
}

/** The log of the process. */
export const loggingSchema = s.object({
  level: s.field(
    "Least severe level to write (`error`, `warn`, `info`, `debug`, `trace`, or `off`), optionally followed by levels per module: `info,proxy=debug`. `POST /logging` changes it at run time.",
    s.withDefault(logFilter, "info"),
  ),
  format: s.field(
    "Format of log and access log: `text`, or one JSON object per line.",
    s.withDefault(s.oneOf(["text", "json"]), "text"),
  ),
});

/** Memory of failed requests. */
export const failureMemorySchema = s.object({
  enabled: s.field(
    "Records failed requests.",
    s.withDefault(s.boolean(), true),
  ),
  size: s.field(
    "Maximum number of records, for each worker; new ones replace those of the reason and route that have the most.",
    s.withDefault(s.integer(1, 10_000), 256),
  ),
});

/** Memory of requests. */
export const requestMemorySchema = s.object({
  enabled: s.field("Records requests.", s.withDefault(s.boolean(), true)),
  size: s.field(
    "Maximum number of records; new ones replace those of the route that has the most.",
    s.withDefault(s.integer(1, 10_000), 1000),
  ),
});
