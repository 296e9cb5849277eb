import {
  decodeStatusMessage,
  frameMessage,
  messageIn,
} from "../../../base/wire/grpc_frame.ts";
import type { HeaderList } from "../../../http/header_list.ts";
import type { ExportProtocol } from "./export_result.ts";
import { readExportResponse } from "./response_message.ts";

const services = {
  traces: "trace.v1.TraceService",
  metrics: "metrics.v1.MetricsService",
  logs: "logs.v1.LogsService",
} as const;

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
  encode: frameMessage,
  readResponse({ status: httpStatus, headers, body }, frame) {
    const fields = body?.trailers ?? headers;
    const status = fields.get("grpc-status") ?? headers.get("grpc-status");
    if (status === STATUS_OK) return readExportResponse(messageIn(frame));
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
  return decodeStatusMessage(fields.get("grpc-message") ?? "");
}
