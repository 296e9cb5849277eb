import type { RequestMessage } from "../message.ts";
import type { Peer } from "../transport.ts";

/** A client's connection, for those who ask what is under way. */
export interface OpenConnection {
  readonly peer: Peer;
  readonly protocol: "http/1.1" | "h2";
  /** Monotonic milliseconds. */
  readonly openedAt: number;
  readonly activeRequests: number;
  /** Those that are under way. */
  readonly requests: readonly RequestMessage[];
}
