import type { Clock } from "../../base/clock.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { RequestHandler, ResponseMessage } from "../message.ts";
import type { Peer } from "../transport.ts";
import type { ServerObserver } from "./observer.ts";
import type { TimerWheel } from "../timer_wheel.ts";

/** What a server allows its clients; sizes in bytes, times in milliseconds, `Infinity` for no bound. */
export interface ServerLimits {
  readonly maxConnections: number;
  /** Of one client, as `clientKey` identifies it; `undefined` is half of `maxConnections`. */
  readonly maxConnectionsPerAddress: number | undefined;
  /** Request line and fields together. */
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
  /** How much of a body that nobody read is skipped to keep the connection. */
  readonly maxDrainBytes: number;
  /** From the first byte of a head to its last; on a new connection from the accept. */
  readonly requestHeadersTimeoutMs: number;
  /** Between two reads of a request body. */
  readonly bodyIdleTimeoutMs: number;
  /** Between two requests. */
  readonly keepAliveTimeoutMs: number;
  /** For one write to a client that does not read. */
  readonly writeTimeoutMs: number;
  /** How long a closed connection waits for the client to have read what it was sent. */
  readonly lingerTimeoutMs: number;
  /** How long a client that ended its side is believed to be still interested. */
  readonly halfCloseGraceMs: number;
  /** How long a tunnel lives on after one side ended. */
  readonly halfOpenTunnelMs: number;
  readonly tlsHandshakeTimeoutMs: number;
  /** Requests at a time on one HTTP/2 connection. */
  readonly maxConcurrentStreams: number;
  /** Streams that an HTTP/2 client may reset within ten seconds before it is disconnected. */
  readonly maxStreamResets: number;
}

/** What holds where a server sets no limit of its own. */
export const defaultLimits: ServerLimits = {
  maxConnections: 10_000,
  maxConnectionsPerAddress: undefined,
  maxHeaderBytes: 64 * 1024,
  maxHeaderCount: 200,
  maxDrainBytes: 256 * 1024,
  requestHeadersTimeoutMs: 15_000,
  bodyIdleTimeoutMs: 60_000,
  keepAliveTimeoutMs: 75_000,
  writeTimeoutMs: 60_000,
  lingerTimeoutMs: 2_000,
  halfCloseGraceMs: 500,
  halfOpenTunnelMs: 60_000,
  tlsHandshakeTimeoutMs: 10_000,
  maxConcurrentStreams: 128,
  maxStreamResets: 200,
};

/** What a server needs from the rest of the program. */
export interface ServerOptions {
  readonly handler: RequestHandler;
  /** The answer to what is not a request we accept: the one who knows statuses decides. */
  readonly reject: (error: GatewayError) => ResponseMessage;
  /** Told what should never happen, such as a handler that throws. */
  readonly report: (error: unknown) => void;
  readonly observer: ServerObserver;
  readonly clock: Clock;
  readonly limits?: Partial<ServerLimits>;
}

/** What all connections of a server share. */
export interface ServerContext extends Omit<ServerOptions, "limits"> {
  /** Those in force; they may change while connections are open. */
  limits: ServerLimits;
  readonly wheel: TimerWheel;
  /** Value for `Date`. */
  date(): string;
}

/** The client of a connection, and how it reached the gateway. */
export interface Client {
  readonly peer: Peer;
  readonly scheme: "http" | "https";
  /** The server name of the TLS handshake (SNI); `undefined` when the client sent none. */
  readonly serverName: string | undefined;
}
