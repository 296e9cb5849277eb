import type { Log } from "../../base/log/log.ts";
import {
  formatField,
  formatTime,
  type LogFormat,
  quote,
} from "../../base/log/log_text.ts";
import { formatNumber, formatUsd } from "../../base/log/log_text.ts";
import { hideSignatures } from "../../base/redaction.ts";
import type { Attributes } from "../spans/span.ts";
import type { FinishedRequest } from "./finished_request.ts";

/** A record of the access log for a collector. */
export interface LogRecord extends Pick<FinishedRequest, "time" | "trace"> {
  readonly level: Level;
  /** Such as `GET /mcp 200`. */
  readonly body: string;
  readonly attributes: Attributes;
}

/** Dependencies of the access log. */
export interface AccessLogOptions {
  /** Receives one line, its line break included; see `LineWriter`. */
  readonly write: (line: string) => void;
  readonly format: LogFormat;
  /** Fields to leave out. */
  readonly remove?: ReadonlySet<string> | undefined;
  /** The log of module `request`: the access log is its `info`, so that the filter `request=off` silences it. */
  readonly log: Log;
}

/**
 * Writes one line per finished request: a warning when the gateway failed, else info.
 * @param added Fields of the configuration.
 */
export type AccessLog = (
  request: FinishedRequest,
  added?: Attributes,
) => void;

/** Creates an access log; it escapes everything that clients send. */
export function createAccessLog(
  { write, format, log, remove = new Set() }: AccessLogOptions,
): AccessLog {
  const toLine = format === "json" ? toJsonLine : toTextLine;
  // A busy gateway accepts many requests in one millisecond, and printing a time is a third of the cost of a line.
  let time = 0;
  let timeText = formatTime(time);
  return (request, added = {}) => {
    const level = levelOf(request);
    if (!log.isEnabled(level)) return;
    if (request.time !== time) {
      time = request.time;
      timeText = formatTime(time);
    }
    write(toLine(timeText, level, (add) => {
      eachWanted(request, added, remove, add);
    }));
  };
}

/** Creates an access log of records for a collector. */
export function createRecordLog(
  { write, log, remove = new Set() }:
    & Pick<AccessLogOptions, "log" | "remove">
    & { readonly write: (record: LogRecord) => void },
): AccessLog {
  return (request, added = {}) => {
    const level = levelOf(request);
    if (!log.isEnabled(level)) return;
    const { time, method, path, status, trace } = request;
    const attributes: Record<string, string | number | boolean> = {};
    eachWanted(request, added, remove, (key, value) => {
      attributes[key] = value;
    });
    const body = `${method} ${hideSignatures(path)} ${status}`.trimStart();
    write({ time, level, body, attributes, trace });
  };
}

/** Longer names of methods and tools, which clients choose, are cut. */
const MAX_NAME = 128;

type Add = (key: string, value: string | number | boolean) => void;

type Fields = (add: Add) => void;

type Level = "info" | "warn";

/** Returns the level of a line: an error response of an upstream or a policy is not a failure of the gateway. */
function levelOf({ status, reason }: FinishedRequest): Level {
  if (status < 500 || reason === "upstream") return "info";
  return reason === "direct_response" ? "info" : "warn";
}

function toTextLine(time: string, level: Level, fields: Fields): string {
  let line = `${time}\t${level}\trequest`;
  fields((key, value) => line += formatField(key, value));
  return line + "\n";
}

function toJsonLine(time: string, level: Level, fields: Fields): string {
  let line = `{"level":"${level}","time":"${time}","scope":"request"`;
  fields((key, value) => {
    line += `,"${key}":${toJson(value)}`;
  });
  return line + "}\n";
}

function toJson(value: string | number | boolean): string {
  if (typeof value === "string") return quote(value);
  return typeof value === "number" ? formatNumber(value) : String(value);
}

/** Passes the fields on, without those that the configuration leaves out, and with those that it adds. */
function eachWanted(
  request: FinishedRequest,
  added: Attributes,
  remove: ReadonlySet<string>,
  add: Add,
): void {
  eachField(request, (key, value) => {
    if (value === undefined || value === "") return;
    if (!remove.has(key) && !Object.hasOwn(added, key)) add(key, value);
  });
  for (const [key, value] of Object.entries(added)) {
    if (value === undefined) continue;
    add(key, typeof value === "object" ? value.join(",") : value);
  }
}

/** Passes on all fields; those that are `undefined` or empty are left out. */
function eachField(
  request: FinishedRequest,
  add: (key: string, value: string | number | undefined) => void,
): void {
  const { gateway, trace, usage } = request;
  add("gateway", gateway);
  if (gateway === undefined) add("port", request.port);
  add("listener", request.listener);
  add("route", request.route);
  add("backend", request.backend);
  add("endpoint", request.endpoint);
  add("src.addr", request.source);
  add("http.method", request.method);
  add("http.host", request.host);
  add("http.path", hideSignatures(request.path));
  add("http.version", request.version && `HTTP/${request.version}`);
  add("http.status", request.status);
  add("bytes", request.bytesSent);
  add("request.id", request.requestId);
  add("upstream.request.id", request.upstreamRequestId);
  add("trace.id", trace?.traceId);
  add("span.id", trace?.spanId);
  add("reason", request.reason);
  add("error", request.error);
  if (request.retries > 0) add("retry.attempt", request.retries);
  add("failover", request.failedOver?.join(","));
  add("llm.dropped", request.dropped?.join(","));
  add("mcp.method.name", request.mcp?.methodName?.slice(0, MAX_NAME));
  add("mcp.server", request.mcp?.server);
  add("gen_ai.tool.name", request.mcp?.tool?.name.slice(0, MAX_NAME));
  if (usage !== undefined) {
    // Names of the OpenTelemetry conventions for generative AI.
    add("gen_ai.response.model", usage.responseModel);
    add("gen_ai.usage.input_tokens", usage.inputTokens);
    add("gen_ai.usage.cache_read.input_tokens", usage.cachedInputTokens);
    add("gen_ai.usage.output_tokens", usage.outputTokens);
    if (usage.estimated) add("gen_ai.usage.estimated", "true");
    if (usage.isPriced) add("llm.cost_usd", formatUsd(usage.nanoUsd));
  }
  if (request.uncounted !== undefined) add("gen_ai.usage.uncounted", "true");
  add("upstream.duration", toMilliseconds(request.upstreamDurationMs));
  add("duration", toMilliseconds(request.durationMs));
}

function toMilliseconds(duration: number | undefined): string | undefined {
  return duration === undefined
    ? undefined
    : `${Math.round(duration * 1000) / 1000}ms`;
}
