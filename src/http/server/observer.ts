import type { GatewayError } from "../../base/errors.ts";
import type { HttpVersion } from "../message.ts";
import type { Peer } from "../transport.ts";

/** A request that never reached the handler, with as much of it as could be read; texts are empty where nothing could. */
export interface RefusedRequest {
  readonly error: GatewayError;
  readonly source: Peer;
  readonly version: HttpVersion | "";
  readonly method: string;
  readonly authority: string;
  /** Path and query as sent. */
  readonly target: string;
  /** What the client was answered. */
  readonly status: number;
  /** Bytes of that answer's body. */
  readonly bytesSent: number;
}

/** Why TLS with a client could not be established. */
export interface HandshakeFailure {
  readonly reason: HandshakeFailureReason;
  readonly message: string;
}

/** `client_closed`: it left without a word, as port checks do. */
export type HandshakeFailureReason =
  | "client_closed"
  | "broken_off"
  | "timeout"
  | "not_tls"
  | "incompatible"
  | "no_client_certificate"
  | "bad_client_certificate"
  | "client_alert"
  | "other";

/** The limit that a connection exceeds. */
export type RejectedConnection =
  | "max_connections"
  | "max_connections_per_address";

/** Hears what happens on a port apart from the requests that the handler sees. */
export interface ServerObserver {
  connectionOpened(peer: Peer, protocol: "http/1.1" | "h2"): void;
  connectionClosed(peer: Peer, reason: string): void;
  /** There were too many connections, of all clients or of this one. */
  connectionRejected(peer: Peer, reason: RejectedConnection): void;
  /** Clients have to wait for a connection, as when there are no file descriptors. */
  acceptStalled(error: unknown): void;
  handshakeFailed(peer: Peer | undefined, failure: HandshakeFailure): void;
  requestRefused(request: RefusedRequest): void;
}
