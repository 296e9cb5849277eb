import type { GatewayError } from "../../../base/errors.ts";
import type { HttpVersion } from "../../message.ts";
import type { Peer } from "../../transport.ts";

/** A request that was rejected before the handler; strings are empty for parts that could not be parsed. */
export interface RejectedRequest {
  readonly error: GatewayError;
  readonly source: Peer;
  readonly version: HttpVersion | "";
  readonly method: string;
  readonly authority: string;
  /** Path and query as sent. */
  readonly target: string;
  /** Status of the response. */
  readonly status: number;
  /** Body bytes of the response. */
  readonly bytesSent: number;
}

/** Reason why a TLS handshake with a client failed. */
export interface HandshakeFailure {
  readonly reason: HandshakeFailureReason;
  readonly message: string;
}

/** Reasons of failed handshakes. `client_closed`: the client disconnected without sending anything, like a port check. */
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

/** Observes events of a server other than handled requests. */
export interface ServerObserver {
  connectionOpened(peer: Peer, protocol: "http/1.1" | "h2"): void;
  connectionClosed(peer: Peer, reason: string): void;
  /** A connection limit was reached, of the listener or of this client address. */
  connectionRejected(peer: Peer, reason: RejectedConnection): void;
  /** Connections cannot be accepted, for example for lack of file descriptors. */
  acceptStalled(error: unknown): void;
  handshakeFailed(peer: Peer | undefined, failure: HandshakeFailure): void;
  requestRejected(request: RejectedRequest): void;
}
