import type { Attributes } from "../spans/span.ts";

/** A record of the access log for a collector. */
export interface LogRecord {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly level: "info" | "warn";
  /** Such as `GET /mcp 200`. */
  readonly body: string;
  readonly attributes: Attributes;
  /** Place of the request in a trace; `undefined` where requests have no spans. */
  readonly trace:
    | {
      readonly traceId: string;
      readonly spanId: string;
      readonly isSampled: boolean;
    }
    | undefined;
}
