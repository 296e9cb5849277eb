/** Value of an attribute; `undefined` leaves it out. */
export type AttributeValue =
  | string
  | number
  | boolean
  | readonly string[]
  | undefined;

/** Attributes of a span or a log record, by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** A span that has ended; times in milliseconds since the epoch, with fractions. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** Set when another process has created the parent. */
  readonly hasRemoteParent: boolean;
  /** `tracestate`; empty without one. */
  readonly state: string;
  readonly name: string;
  readonly kind: "internal" | "server" | "client";
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Attributes;
  /** Set when the operation failed. */
  readonly error: string | undefined;
  /** Spans of other traces that have caused this one. */
  readonly links: readonly {
    readonly traceId: string;
    readonly spanId: string;
  }[];
}

/** Receives spans that have ended. */
export type SpanSink = (span: Span) => void;
