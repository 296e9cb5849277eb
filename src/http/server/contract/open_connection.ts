import type { RequestMessage } from "../../message.ts";
import type { Peer } from "../../transport.ts";

/** An open client connection, for `/debug/tasks`. */
export interface OpenConnection {
  readonly peer: Peer;
  readonly protocol: "http/1.1" | "h2";
  /** Monotonic milliseconds. */
  readonly openedAt: number;
  readonly activeRequests: number;
  /** Requests in progress. */
  readonly requests: readonly RequestMessage[];
}
