/**
 * A collector that reads OTLP with the protos that OpenTelemetry publishes (version 1.9.0), over HTTP and gRPC.
 *
 * @module
 */
// @ts-types="../parsers/grpc_js.d.ts"
import * as grpc from "@grpc/grpc-js";
// @ts-types="../parsers/proto_loader.d.ts"
import { loadSync } from "@grpc/proto-loader";
import { freePort } from "../process/free_port.ts";

/** A value as the test compares it. */
export type ReceivedValue =
  | string
  | number
  | boolean
  | readonly ReceivedValue[];

/** A span, in the form of the tests. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty without a parent. */
  readonly parentSpanId: string;
  readonly state: string;
  readonly name: string;
  readonly kind: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Readonly<Record<string, ReceivedValue>>;
  readonly status: string;
  readonly message: string;
  readonly links: readonly {
    readonly traceId: string;
    readonly spanId: string;
  }[];
  readonly flags: number;
}

/** A log record. */
export interface ReceivedLog {
  readonly time: number;
  readonly severity: string;
  readonly body: ReceivedValue | undefined;
  readonly attributes: Readonly<Record<string, ReceivedValue>>;
  readonly traceId: string;
  readonly spanId: string;
}

/** An export request, as the protos read it. */
export interface ReceivedExport {
  readonly signal: Signal;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, ReceivedValue>>;
  readonly scope: { readonly name: string; readonly version: string };
  readonly spans: readonly ReceivedSpan[];
  readonly logs: readonly ReceivedLog[];
  /** `Metric` messages. */
  readonly metrics: readonly Message[];
}

/** A message with the field names of the protos. */
// deno-lint-ignore no-explicit-any -- loaded protos have no types
export type Message = any;

type Signal = "traces" | "metrics" | "logs";

/** A response: a status of HTTP, or how many records the collector rejects. */
export interface CollectorReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly rejected?: number;
  /** Status of gRPC, such as 14. */
  readonly grpcStatus?: number;
}

/** A running collector. */
export interface OtlpCollector extends AsyncDisposable {
  /** Endpoint for `config.otlp`. */
  readonly endpoint: string;
  readonly protocol: "http" | "grpc";
  /** Exports so far, those included that it did not accept. */
  readonly received: readonly ReceivedExport[];
  /** Spans that it has accepted. */
  readonly spans: readonly ReceivedSpan[];
  readonly logs: readonly ReceivedLog[];
  /** Resolves once `isEnough` is true, which is called after each export. */
  until(isEnough: () => boolean): Promise<void>;
}

/** Options of a collector. */
export interface CollectorOptions {
  /** Default: accepts everything. */
  readonly reply?: (
    received: ReceivedExport,
  ) => CollectorReply | Promise<CollectorReply>;
  /** Default: any free one. */
  readonly port?: number;
}

const names = {
  traces: ["trace", "TraceService"],
  metrics: ["metrics", "MetricsService"],
  logs: ["logs", "LogsService"],
} as const;
const signals = ["traces", "metrics", "logs"] as const;

/** Starts a collector on 127.0.0.1. */
export async function startOtlpCollector(
  protocol: "http" | "grpc",
  { reply = () => ({}), port = freePort() }: CollectorOptions = {},
): Promise<OtlpCollector> {
  const received: ReceivedExport[] = [];
  const spans: ReceivedSpan[] = [];
  const logs: ReceivedLog[] = [];
  const waiting = new Set<() => void>();
  const receive = async (
    signal: Signal,
    message: Message,
    headers: Readonly<Record<string, string>>,
  ) => {
    const read = readExport(signal, message, headers);
    received.push(read);
    const answer = await reply(read);
    if ((answer.status ?? 200) < 300 && (answer.grpcStatus ?? 0) === 0) {
      spans.push(...read.spans);
      logs.push(...read.logs);
    }
    for (const check of waiting) check();
    return answer;
  };
  const stop = protocol === "http"
    ? serveHttp(port, receive)
    : await serveGrpc(port, receive);
  return {
    endpoint: `http://127.0.0.1:${port}`,
    protocol,
    received,
    spans,
    logs,
    until: (isEnough) =>
      new Promise((resolve) => {
        function check(): void {
          if (!isEnough()) return;
          waiting.delete(check);
          resolve();
        }
        waiting.add(check);
        check();
      }),
    [Symbol.asyncDispose]: stop,
  };
}

type Receive = (
  signal: Signal,
  message: Message,
  headers: Readonly<Record<string, string>>,
) => Promise<CollectorReply>;

function serveHttp(port: number, receive: Receive): () => Promise<void> {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port, onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      const signal = signals.find((each) => pathname.endsWith(`/v1/${each}`));
      if (signal === undefined) return new Response(null, { status: 404 });
      const method = methodOf(signal);
      const bytes = new Uint8Array(await request.arrayBuffer());
      const { status = 200, headers = {}, rejected } = await receive(
        signal,
        method.requestDeserialize(bytes),
        { ...Object.fromEntries(request.headers), ":path": pathname },
      );
      const response = method.responseSerialize(partial(signal, rejected));
      return new Response(status < 300 ? new Uint8Array(response) : null, {
        status,
        headers: { "content-type": "application/x-protobuf", ...headers },
      });
    },
  );
  return () => server.shutdown();
}

async function serveGrpc(
  port: number,
  receive: Receive,
): Promise<() => Promise<void>> {
  const server = new grpc.Server();
  for (const signal of signals) {
    server.addService(serviceOf(signal), {
      async Export(
        // deno-lint-ignore no-explicit-any -- loaded protos have no types
        call: grpc.ServerUnaryCall<any, any>,
        callback: grpc.sendUnaryData<Message>,
      ) {
        const { grpcStatus, rejected } = await receive(
          signal,
          call.request,
          headersOf(call),
        );
        if (grpcStatus !== undefined) {
          callback({ code: grpcStatus, message: "as the test demands" });
        } else callback(null, partial(signal, rejected));
      },
    });
  }
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(
      `127.0.0.1:${port}`,
      grpc.ServerCredentials.createInsecure(),
      (error) => error === null ? resolve() : reject(error),
    )
  );
  return () => {
    server.forceShutdown();
    return Promise.resolve();
  };
}

function headersOf(call: Message): Readonly<Record<string, string>> {
  return call.metadata?.getMap?.() ?? {};
}

function partial(signal: Signal, rejected: number | undefined): Message {
  if (rejected === undefined) return {};
  const field = {
    traces: "rejected_spans",
    metrics: "rejected_data_points",
    logs: "rejected_log_records",
  }[signal];
  return { partial_success: { [field]: rejected } };
}

let cached: Message;

function serviceOf(signal: Signal): grpc.ServiceDefinition {
  cached ??= grpc.loadPackageDefinition(loadSync(
    signals.map((each) => {
      const [name] = names[each];
      return `opentelemetry/proto/collector/${name}/v1/${name}_service.proto`;
    }),
    {
      keepCase: true,
      longs: String,
      enums: String,
      defaults: true,
      oneofs: true,
      includeDirs: [
        new URL("../../fixtures/otlp/", import.meta.url).pathname,
      ],
    },
  ));
  const [folder, service] = names[signal];
  return cached.opentelemetry.proto.collector[folder].v1[service].service;
}

function methodOf(signal: Signal): {
  requestDeserialize(bytes: Uint8Array): Message;
  responseSerialize(message: Message): Uint8Array;
} {
  // deno-lint-ignore no-explicit-any -- loaded protos have no types
  const { Export } = serviceOf(signal) as any;
  return {
    requestDeserialize: (bytes) =>
      Export.requestDeserialize(Buffer.from(bytes)),
    responseSerialize: (message) => Export.responseSerialize(message),
  };
}

/** Reads the bytes of an export request. */
export function readOtlp(signal: Signal, bytes: Uint8Array): ReceivedExport {
  return readExport(signal, methodOf(signal).requestDeserialize(bytes), {});
}

function readExport(
  signal: Signal,
  message: Message,
  headers: Readonly<Record<string, string>>,
): ReceivedExport {
  const [first] = message.resource_spans ?? message.resource_metrics ??
    message.resource_logs;
  const [scoped] = first.scope_spans ?? first.scope_metrics ?? first.scope_logs;
  const { name, version } = scoped.scope;
  return {
    signal,
    headers,
    resource: readAttributes(first.resource.attributes),
    scope: { name, version },
    spans: (scoped.spans ?? []).map(readSpan),
    logs: (scoped.log_records ?? []).map(readLog),
    metrics: scoped.metrics ?? [],
  };
}

function readSpan(span: Message): ReceivedSpan {
  return {
    traceId: span.trace_id.toString("hex"),
    spanId: span.span_id.toString("hex"),
    parentSpanId: span.parent_span_id.toString("hex"),
    state: span.trace_state,
    name: span.name,
    kind: span.kind.replace("SPAN_KIND_", ""),
    startedAt: Number(span.start_time_unix_nano) / 1e6,
    endedAt: Number(span.end_time_unix_nano) / 1e6,
    attributes: readAttributes(span.attributes),
    status: span.status?.code?.replace("STATUS_CODE_", "") ?? "UNSET",
    message: span.status?.message ?? "",
    links: span.links.map((link: Message) => ({
      traceId: link.trace_id.toString("hex"),
      spanId: link.span_id.toString("hex"),
    })),
    flags: span.flags,
  };
}

function readLog(record: Message): ReceivedLog {
  return {
    time: Number(record.time_unix_nano) / 1e6,
    severity: record.severity_text,
    body: readValue(record.body),
    attributes: readAttributes(record.attributes),
    traceId: record.trace_id.toString("hex"),
    spanId: record.span_id.toString("hex"),
  };
}

/** Reads repeated `KeyValue`. */
export function readAttributes(
  attributes: Message,
): Record<string, ReceivedValue> {
  const read: Record<string, ReceivedValue> = {};
  for (const { key, value } of attributes) read[key] = readValue(value);
  return read;
}

function readValue(value: Message): ReceivedValue {
  switch (value?.value) {
    case "int_value":
      return Number(value.int_value);
    case "array_value":
      return value.array_value.values.map(readValue);
    default:
      return value?.[value?.value];
  }
}
