import type { ResponseMessage } from "../../../http/message.ts";

/** A signal of OpenTelemetry. */
export type Signal = "traces" | "metrics" | "logs";

/** The result of one export. */
export type ExportResult =
  /** The collector has the records, except for those that it rejects. */
  | { readonly kind: "accepted"; readonly rejected: number }
  /** The same records would be rejected again. */
  | { readonly kind: "rejected"; readonly error: unknown }
  /** A later attempt may succeed. */
  | {
    readonly kind: "unavailable";
    readonly error: unknown;
    /** Time that the collector asks for. */
    readonly retryAfterMs?: number | undefined;
  };

/** Sends export requests; never rejects. */
export interface Collector {
  export(signal: Signal, message: Uint8Array): Promise<ExportResult>;
  /** Closes its connections; exports under way fail. */
  close(): void;
}

/** Form of the requests and responses of a protocol. */
export interface ExportProtocol {
  readonly version: "auto" | "http2";
  /** Appended to the path of the endpoint. */
  pathOf(signal: Signal): string;
  readonly headers: readonly (readonly [string, string])[];
  encode(message: Uint8Array): Uint8Array;
  /** @param body The whole body, whose trailers have arrived. */
  readResponse(
    response: ResponseMessage,
    body: Uint8Array,
    now: number,
  ): ExportResult;
}
