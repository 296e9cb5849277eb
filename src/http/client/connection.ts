import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { Body } from "../body.ts";
import type { ResponseMessage } from "../message.ts";
import type { TimerWheel } from "../timer_wheel.ts";
import type { UpstreamOptions, UpstreamRequest } from "./upstream.ts";

/** An open connection to an upstream: one request at a time in HTTP/1.1, several in HTTP/2. */
export interface Connection {
  /** Whether it may serve several requests at a time. */
  readonly isShared: boolean;
  /** Requests on it now. */
  readonly active: number;
  /** Requests sent so far. */
  readonly served: number;
  /** Promises the connection to a request, whose `send` follows at once; answers whether there is room for another. */
  reserve(): boolean;
  /** As `Upstream.send`, but never a second time. */
  send(
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage>;
  /** Takes no more requests and ends after those it has. */
  retire(): void;
  /** Ends it and every request on it. */
  close(): void;
}

/** What a connection needs to know of its surroundings. */
export interface ConnectionContext {
  readonly options: UpstreamOptions;
  /** Such as `10.0.0.1:80`, for error messages. */
  readonly endpoint: string;
  readonly clock: Clock;
  readonly wheel: TimerWheel;
  /** Called when the connection, full before, takes a request again. */
  onAvailable(connection: Connection): void;
  /** Called when the connection takes no more requests, but finishes those it has. */
  onDraining(connection: Connection): void;
  /** Called once. */
  onClosed(connection: Connection): void;
}

/** How long a connection without requests is kept. */
export const MAX_IDLE_MS = 60_000;

/** Largest head of a response. */
export const MAX_HEAD_BYTES = 64 * 1024;

/** Most fields in the head of a response. */
export const MAX_HEAD_FIELDS = 256;

/** More interim responses than this are taken for an attack on the client. */
export const MAX_INTERIM_RESPONSES = 64;

/** Silence after which a body goes out although the upstream has not asked for it (RFC 9110 section 10.1.1). */
export const CONTINUE_WAIT_MS = 1000;
