import { freePort } from "../process/free_port.ts";

const program = Deno.env.get("OTELCOL") ?? "";

/** A message of OTLP, as the collector writes it. */
// deno-lint-ignore no-explicit-any -- JSON of another program
export type Json = any;

/** A span, as the collector received it. */
export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty without one. */
  readonly parentSpanId: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly { readonly spanId: string }[];
}

/** The official OpenTelemetry collector. */
export interface RealCollector extends AsyncDisposable {
  readonly http: string;
  readonly grpc: string;
  signal(signal: Deno.Signal): void;
  /** Stops it, and returns everything that it received. */
  stop(): Promise<readonly Json[]>;
}

/** Options of the collector. */
export interface RealCollectorOptions {
  /** Signals that it accepts; it rejects the others. */
  readonly signals?: readonly string[];
  readonly ports?: { readonly http: number; readonly grpc: number };
}

/** Starts the collector that `OTELCOL` names; resolves when it listens. */
export async function startRealCollector(
  {
    signals = ["traces", "metrics", "logs"],
    ports = { http: freePort(), grpc: freePort() },
  }: RealCollectorOptions = {},
): Promise<RealCollector> {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/received.json`;
  const http = { endpoint: `127.0.0.1:${ports.http}` };
  const grpc = { endpoint: `127.0.0.1:${ports.grpc}` };
  const config = {
    receivers: { otlp: { protocols: { http, grpc } } },
    exporters: { file: { path: file } },
    service: {
      telemetry: { metrics: { level: "none" } },
      pipelines: Object.fromEntries(
        signals.map((signal) => [
          signal,
          { receivers: ["otlp"], exporters: ["file"] },
        ]),
      ),
    },
  };
  await Deno.writeTextFile(`${folder}/config.yaml`, JSON.stringify(config));
  const child = new Deno.Command(program, {
    args: ["--config", `${folder}/config.yaml`],
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const log = await untilReady(child.stderr);
  let ended: Promise<void> | undefined;
  const end = () =>
    ended ??= (async () => {
      child.kill("SIGTERM");
      await child.status;
      await log.ended;
    })();
  return {
    http: `http://${http.endpoint}`,
    grpc: `http://${grpc.endpoint}`,
    signal: (signal) => child.kill(signal),
    async stop() {
      await end();
      const lines = (await Deno.readTextFile(file)).trim().split("\n");
      return lines.filter((line) => line !== "").map((line) =>
        JSON.parse(line)
      );
    },
    async [Symbol.asyncDispose]() {
      await end();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Resolves when the collector is ready; reads the rest of its log until it ends. */
async function untilReady(
  stream: ReadableStream<Uint8Array>,
): Promise<{ readonly ended: Promise<void> }> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("Everything is ready")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`The collector did not start:\n${text}`);
    text += value;
  }
  const drain = async () => {
    while (!(await reader.read()).done);
  };
  return { ended: drain() };
}

/** Returns the spans of a service. */
export function spansOf(
  received: readonly Json[],
  service: string,
): CollectedSpan[] {
  return received.flatMap(({ resourceSpans = [] }) => resourceSpans)
    .filter((resource: Json) => isOf(resource, service))
    .flatMap(({ scopeSpans: [{ spans }] }: Json) => spans)
    .map((span: Json) => ({
      ...span,
      parentSpanId: span.parentSpanId ?? "",
      attributes: attributesOf(span.attributes),
      links: span.links ?? [],
    }));
}

/** Reports whether a message is that of a service. */
export function isOf({ resource }: Json, service: string): boolean {
  return attributesOf(resource.attributes)["service.name"] === service;
}

function attributesOf(
  attributes: readonly Json[] = [],
): Record<string, string | number | boolean> {
  return Object.fromEntries(attributes.map(({ key, value }) => [
    key,
    value.stringValue ?? value.boolValue ?? value.doubleValue ??
      Number(value.intValue),
  ]));
}
