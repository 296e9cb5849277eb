import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { Body } from "../body.ts";
import type { ResponseMessage } from "../message.ts";
import type { TimerWheel } from "../timer_wheel.ts";
import type { UpstreamOptions, UpstreamRequest } from "./upstream.ts";

/** An open connection to an upstream: one request at a time in HTTP/1.1, several in HTTP/2. */
export interface Connection {
  /** The connection may serve several requests at a time. */
  readonly isShared: boolean;
  /** Requests in progress. */
  readonly active: number;
  /** Requests sent so far. */
  readonly served: number;
  /** Client whose request has the connection, where it serves one at a time. */
  owners?: readonly string[] | undefined;
  /** Reserves the connection for a request, whose `send` follows immediately; returns whether there is room for another. */
  reserve(): boolean;
  /** Sends a request once; otherwise like `Upstream.send`. */
  send(
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage>;
  /** Accepts no further requests and closes after those in progress. */
  retire(): void;
  /** Closes the connection and aborts its requests. */
  close(): void;
}

/** Dependencies of a connection. */
export interface ConnectionContext {
  readonly options: UpstreamOptions;
  /** Address for error messages, such as `10.0.0.1:80`. */
  readonly endpoint: string;
  readonly clock: Clock;
  readonly wheel: TimerWheel;
  /** Called when a full connection accepts requests again. */
  onAvailable(connection: Connection): void;
  /** Called when the connection accepts no further requests, but finishes those in progress. */
  onDraining(connection: Connection): void;
  /** Called once. */
  onClosed(connection: Connection): void;
}

/** Time that a connection without requests is kept. */
export const MAX_IDLE_MS = 60_000;

/** Maximum size of a response head. */
export const MAX_HEAD_BYTES = 64 * 1024;

/** Maximum number of fields in a response head. */
export const MAX_HEAD_FIELDS = 256;

/** Maximum number of interim responses; more count as an attack on the client. */
export const MAX_INTERIM_RESPONSES = 64;

/** Time to wait for a 100 response before sending the body anyway (RFC 9110 section 10.1.1). */
export const CONTINUE_WAIT_MS = 1000;
