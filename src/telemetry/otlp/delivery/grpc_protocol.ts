import type { HeaderList } from "../../../http/header_list.ts";
import type { ExportProtocol } from "./export_result.ts";
import { readExportResponse } from "./response_message.ts";

const services = {
  traces: "trace.v1.TraceService",
  metrics: "metrics.v1.MetricsService",
  logs: "logs.v1.LogsService",
} as const;

/** Length of the flag and the length before a message. */
const PREFIX_BYTES = 5;
const STATUS_OK = "0";
/**
 * CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE and DATA_LOSS, as OTLP says; RESOURCE_EXHAUSTED too, since the
 * collector sends it when it is short of memory.
 */
const retryable: ReadonlySet<string> = new Set([
  "1",
  "4",
  "8",
  "10",
  "11",
  "14",
  "15",
]);
/** Statuses of proxies before the collector, which have no gRPC status. */
const retryableHttp: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** OTLP over gRPC: unary calls over HTTP/2. */
export const grpcProtocol: ExportProtocol = {
  version: "http2",
  pathOf: (signal) =>
    `/opentelemetry.proto.collector.${services[signal]}/Export`,
  headers: [["content-type", "application/grpc"]],
  encode(message) {
    const frame = new Uint8Array(PREFIX_BYTES + message.length);
    new DataView(frame.buffer).setUint32(1, message.length);
    frame.set(message, PREFIX_BYTES);
    return frame;
  },
  readResponse({ status: httpStatus, headers, body }, frame) {
    const fields = body?.trailers ?? headers;
    const status = fields.get("grpc-status") ?? headers.get("grpc-status");
    if (status === STATUS_OK) return readExportResponse(unwrap(frame));
    const error = new Error(
      status === undefined
        ? `no gRPC status, HTTP status ${httpStatus}`
        : `gRPC status ${status}: ${messageOf(fields)}`,
    );
    const mayRetry = status === undefined
      ? retryableHttp.has(httpStatus)
      : retryable.has(status);
    return { kind: mayRetry ? "unavailable" : "rejected", error };
  },
};

function messageOf(fields: HeaderList): string {
  return (fields.get("grpc-message") ?? "").replace(
    /%([\da-f]{2})/gi,
    (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** Returns the message after its prefix, empty without one; never compressed, because no encoding was offered. */
function unwrap(frame: Uint8Array): Uint8Array {
  return frame.subarray(PREFIX_BYTES);
}
