import type { Log } from "../../base/log.ts";
import {
  formatField,
  formatTime,
  type LogFormat,
  quote,
} from "../../base/log_text.ts";
import { formatNumber, formatUsd } from "../../base/log_text.ts";
import { hideSignatures } from "../../base/redaction.ts";
import type { Attributes } from "../spans/span.ts";
import type { TokenUsage } from "../../llm/usage/token_usage.ts";
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
    if (!remove.has(key) && !Object.hasOwn(added, key)) add(key, value);
  });
  for (const [key, value] of Object.entries(added)) {
    if (value === undefined) continue;
    add(key, typeof value === "object" ? value.join(",") : value);
  }
}

function eachField(request: FinishedRequest, add: Add): void {
  if (request.gateway !== undefined) add("gateway", request.gateway);
  else add("port", request.port);
  if (request.listener !== undefined) add("listener", request.listener);
  if (request.route !== undefined) add("route", request.route);
  if (request.backend !== undefined) add("backend", request.backend);
  if (request.endpoint !== undefined) add("endpoint", request.endpoint);
  add("src.addr", request.source);
  if (request.method !== "") add("http.method", request.method);
  if (request.host !== "") add("http.host", request.host);
  if (request.path !== "") add("http.path", hideSignatures(request.path));
  if (request.version !== "") add("http.version", `HTTP/${request.version}`);
  add("http.status", request.status);
  add("bytes", request.bytesSent);
  if (request.requestId !== "") add("request.id", request.requestId);
  if (request.upstreamRequestId !== undefined) {
    add("upstream.request.id", request.upstreamRequestId);
  }
  if (request.trace !== undefined) {
    add("trace.id", request.trace.traceId);
    add("span.id", request.trace.spanId);
  }
  add("reason", request.reason);
  if (request.error !== undefined) add("error", request.error);
  if (request.retries > 0) add("retry.attempt", request.retries);
  if (request.failedOver !== undefined && request.failedOver.length > 0) {
    add("failover", request.failedOver.join(","));
  }
  if (request.dropped !== undefined && request.dropped.length > 0) {
    add("llm.dropped", request.dropped.join(","));
  }
  if (request.usage !== undefined) addUsage(request.usage, add);
  if (request.uncounted !== undefined) add("gen_ai.usage.uncounted", "true");
  if (request.upstreamDurationMs !== undefined) {
    add("upstream.duration", toMilliseconds(request.upstreamDurationMs));
  }
  if (request.durationMs !== undefined) {
    add("duration", toMilliseconds(request.durationMs));
  }
}

/** Adds token usage under the names of the OpenTelemetry conventions for generative AI. */
function addUsage(usage: TokenUsage, add: Add): void {
  if (usage.responseModel !== undefined) {
    add("gen_ai.response.model", usage.responseModel);
  }
  add("gen_ai.usage.input_tokens", usage.inputTokens);
  if (usage.cachedInputTokens !== undefined) {
    add("gen_ai.usage.cache_read.input_tokens", usage.cachedInputTokens);
  }
  add("gen_ai.usage.output_tokens", usage.outputTokens);
  if (usage.estimated) add("gen_ai.usage.estimated", "true");
  if (usage.isPriced) add("llm.cost_usd", formatUsd(usage.nanoUsd));
}

function toMilliseconds(duration: number): string {
  return `${Math.round(duration * 1000) / 1000}ms`;
}
