import { Cancellation, createDeadline } from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import { BytesBody } from "../../../http/body.ts";
import { createUpstream } from "../../../http/client/pool/pooled_upstream.ts";
import type { Upstream } from "../../../http/client/upstream.ts";
import { HeaderList } from "../../../http/header_list.ts";
import type { ResponseMessage } from "../../../http/message.ts";
import { readBytes } from "../../../http/read_bytes.ts";
import type {
  Collector,
  ExportProtocol,
  ExportResult,
  Signal,
} from "./export_result.ts";
import { grpcProtocol } from "./grpc_protocol.ts";
import { httpProtocol } from "./http_protocol.ts";

/** Settings of a collector. */
export interface CollectorOptions {
  /** Absolute `http` or `https` URL. */
  readonly endpoint: string;
  readonly protocol: "http" | "grpc";
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** PEM certificates that replace the trusted roots. */
  readonly caCertificates?: readonly string[] | undefined;
}

/** Longer responses are an error of the collector. */
const MAX_RESPONSE_BYTES = 64 * 1024;

/** A client of an OpenTelemetry collector, on the gateway's own HTTP client. */
export class CollectorClient implements Collector {
  readonly #options: CollectorOptions;
  readonly #protocol: ExportProtocol;
  readonly #clock: Clock;
  readonly #upstream: Upstream;
  readonly #authority: string;
  readonly #basePath: string;
  readonly #closed = new Cancellation();

  /** Does not connect yet. */
  constructor(options: CollectorOptions, clock: Clock) {
    const { endpoint, protocol, caCertificates } = options;
    const { protocol: scheme, hostname, port, host, pathname } = new URL(
      endpoint,
    );
    const isSecure = scheme === "https:";
    const name = hostname.replace(/^\[(.*)\]$/, "$1");
    this.#options = options;
    this.#clock = clock;
    this.#protocol = protocol === "grpc" ? grpcProtocol : httpProtocol;
    this.#authority = host;
    this.#basePath = pathname.replace(/\/$/, "");
    this.#upstream = createUpstream({
      host: name,
      port: port === "" ? (isSecure ? 443 : 80) : Number(port),
      protocol: this.#protocol.version,
      tls: isSecure
        ? { hostname: name, subjectAltNames: [], caCertificates }
        : undefined,
    }, clock);
  }

  async export(signal: Signal, message: Uint8Array): Promise<ExportResult> {
    const { timeoutMs } = this.#options;
    const late = () => new Error(`no response within ${timeoutMs} ms`);
    const { cancellation, lift } = createDeadline(
      this.#closed,
      this.#clock,
      timeoutMs,
      late,
    );
    try {
      const response = await this.#send(signal, message, cancellation);
      const body = await readBytes(response.body, MAX_RESPONSE_BYTES);
      return this.#protocol.readResponse(response, body, this.#clock.now());
    } catch (error) {
      return { kind: "unavailable", error };
    } finally {
      lift();
    }
  }

  close(): void {
    this.#closed.cancel(new Error("the gateway stops"));
    this.#upstream.close();
  }

  #send(
    signal: Signal,
    message: Uint8Array,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const { encode, pathOf, headers } = this.#protocol;
    return this.#upstream.send(
      {
        method: "POST",
        authority: this.#authority,
        target: this.#basePath + pathOf(signal),
        headers: HeaderList.from([
          ...headers,
          ...Object.entries(this.#options.headers),
        ]),
        upgrade: undefined,
        expectsContinue: false,
        sendInformational: () => {},
      },
      new BytesBody(encode(message)),
      cancellation,
    );
  }
}
