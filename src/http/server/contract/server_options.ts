import type { Clock } from "../../../base/clock.ts";
import type { GatewayError } from "../../../base/errors.ts";
import type { RequestHandler, ResponseMessage } from "../../message.ts";
import type { Peer } from "../../transport.ts";
import type { ClientRegister } from "./client_counts.ts";
import type { ServerObserver } from "./observer.ts";
import type { TimerWheel } from "../../timer_wheel.ts";
import { TransferPace } from "./transfer_pace.ts";

/** Limits for clients; sizes in bytes, times in milliseconds, `Infinity` means unlimited. */
export interface ServerLimits {
  readonly maxConnections: number;
  /** Of one client, as `clientKey` identifies it; `undefined` is half of `maxConnections`. */
  readonly maxConnectionsPerAddress: number | undefined;
  /** Request line and fields together. */
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
  /** Maximum size of an unread body that is discarded to keep the connection. */
  readonly maxDrainBytes: number;
  /** From the first byte of a head to its last; on a new connection, from accepting it. */
  readonly requestHeadersTimeoutMs: number;
  /** Wait for a request body, which bytes make up for; see `TransferPace`. */
  readonly bodyIdleTimeoutMs: number;
  /** Of a request body; 0 for no minimum. */
  readonly minBodyBytesPerSecond: number;
  /** Between two requests. */
  readonly keepAliveTimeoutMs: number;
  /** Wait for a client to read a response, which bytes make up for; see `TransferPace`. */
  readonly writeTimeoutMs: number;
  /** Of a response body; 0 for no minimum. */
  readonly minResponseBytesPerSecond: number;
  /** Time that a closed connection waits for the client to read the response. */
  readonly lingerTimeoutMs: number;
  /** Time that a client may wait for the response after closing its side, as it announced by `Connection: close`. */
  readonly halfCloseGraceMs: number;
  /** The same for a client that wanted to keep the connection: most likely it has left. */
  readonly departureGraceMs: number;
  /** Time that a tunnel stays open after one side has ended. */
  readonly halfOpenTunnelMs: number;
  /** Time without a byte in either direction of a tunnel. */
  readonly tunnelIdleTimeoutMs: number;
  readonly tlsHandshakeTimeoutMs: number;
  /** Concurrent requests on an HTTP/2 connection. */
  readonly maxConcurrentStreams: number;
  /** Streams that an HTTP/2 client may reset within ten seconds before it is disconnected. */
  readonly maxStreamResets: number;
}

/** Limits when none are set. */
export const defaultLimits: ServerLimits = {
  maxConnections: 10_000,
  maxConnectionsPerAddress: undefined,
  maxHeaderBytes: 64 * 1024,
  maxHeaderCount: 200,
  maxDrainBytes: 256 * 1024,
  requestHeadersTimeoutMs: 15_000,
  bodyIdleTimeoutMs: 60_000,
  minBodyBytesPerSecond: 240,
  keepAliveTimeoutMs: 75_000,
  writeTimeoutMs: 60_000,
  minResponseBytesPerSecond: 240,
  lingerTimeoutMs: 2_000,
  halfCloseGraceMs: 500,
  departureGraceMs: 100,
  halfOpenTunnelMs: 60_000,
  tunnelIdleTimeoutMs: 300_000,
  tlsHandshakeTimeoutMs: 10_000,
  maxConcurrentStreams: 128,
  maxStreamResets: 200,
};

/** Dependencies of a server. */
export interface ServerOptions {
  readonly handler: RequestHandler;
  /** Returns the response to a rejected request. */
  readonly reject: (error: GatewayError) => ResponseMessage;
  /** Receives errors that should never happen, such as those thrown by a handler. */
  readonly report: (error: unknown) => void;
  readonly observer: ServerObserver;
  readonly clock: Clock;
  readonly limits?: Partial<ServerLimits>;
  /** Counts the connections of the port, also those of other threads; by default, only those of this server. */
  readonly clients?: ClientRegister | undefined;
}

/** State that all connections of a server share. */
export interface ServerContext
  extends Omit<ServerOptions, "limits" | "clients"> {
  /** Current limits; they may change while connections are open. */
  limits: ServerLimits;
  readonly wheel: TimerWheel;
  /** Value for `Date`. */
  date(): string;
}

/** The client of a connection. */
export interface Client {
  readonly peer: Peer;
  readonly scheme: "http" | "https";
  /** The server name of the TLS handshake (SNI); `undefined` when the client sent none. */
  readonly serverName: string | undefined;
  /** As `RequestMessage.clientCertificate`. */
  readonly clientCertificate?: string | undefined;
}

/** Creates the pace at which a client must read its responses. */
export function responsePace(
  context: Pick<ServerContext, "clock" | "limits">,
): TransferPace {
  return new TransferPace(context.clock, () => ({
    creditMs: context.limits.writeTimeoutMs,
    bytesPerSecond: context.limits.minResponseBytesPerSecond,
  }));
}

/**
 * Creates the pace at which a client must send a request body.
 * @param hasRate Whether the minimum rate applies; without it, each wait has the whole credit.
 */
export function requestPace(
  context: Pick<ServerContext, "clock" | "limits">,
  hasRate = true,
): TransferPace {
  return new TransferPace(context.clock, () => ({
    creditMs: context.limits.bodyIdleTimeoutMs,
    bytesPerSecond: hasRate ? context.limits.minBodyBytesPerSecond : 0,
  }));
}
