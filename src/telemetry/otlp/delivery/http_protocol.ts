import type { ResponseMessage } from "../../../http/message.ts";
import { readExportResponse } from "./response_message.ts";
import type { ExportProtocol, ExportResult } from "./export_result.ts";

/** Statuses after which OTLP allows another attempt. */
const retryable: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const MAX_RETRY_AFTER_MS = 30_000;

/** OTLP over HTTP with protobuf bodies. */
export const httpProtocol: ExportProtocol = {
  version: "auto",
  pathOf: (signal) => `/v1/${signal}`,
  headers: [
    ["content-type", "application/x-protobuf"],
    ["accept-encoding", "identity"],
  ],
  encode: (message) => message,
  readResponse(response, body, now) {
    const { status, headers } = response;
    if (status >= 200 && status < 300) {
      // Some servers send an empty body, or JSON.
      const type = headers.get("content-type") ?? "";
      return type.startsWith("application/x-protobuf")
        ? readExportResponse(body)
        : { kind: "accepted", rejected: 0 };
    }
    const error = new Error(`the collector responded with ${status}`);
    if (!retryable.has(status)) return { kind: "rejected", error };
    return unavailable(response, error, now);
  },
};

function unavailable(
  { headers }: ResponseMessage,
  error: Error,
  now: number,
): ExportResult {
  const value = headers.get("retry-after");
  if (value === undefined) return { kind: "unavailable", error };
  const delayMs = /^\d{1,9}$/.test(value)
    ? Number(value) * 1000
    : Date.parse(value) - now;
  if (!(delayMs >= 0)) return { kind: "unavailable", error };
  const retryAfterMs = Math.min(delayMs, MAX_RETRY_AFTER_MS);
  return { kind: "unavailable", error, retryAfterMs };
}
