import type { Body } from "./body.ts";
import type { Cancellation } from "../base/cancellation.ts";
import type { HeldBytes } from "./body_memory.ts";
import type { HeaderList } from "./header_list.ts";
import type { Peer, Transport } from "./transport.ts";

/** HTTP version of a message as in `Via`. */
export type HttpVersion = "1.0" | "1.1" | "2";

/** A request in the gateway; policies modify it in place. */
export interface RequestMessage {
  readonly version: HttpVersion;
  /** Case-sensitive, such as `GET`. */
  method: string;
  /** `http` or `https`: scheme of the client's connection. */
  scheme: string;
  /** `host` or `host:port` as the client sent it; `headers` has no `Host` field. */
  authority: string;
  /** Path and query exactly as sent, such as `/a%20b?c=1`; `*` for a server-wide OPTIONS. */
  target: string;
  /** Fields without `Host` and hop-by-hop fields, which the connection has consumed. */
  headers: HeaderList;
  body: Body | undefined;
  /** Value of `Upgrade` if the client requests another protocol, such as `websocket`. */
  readonly upgrade: string | undefined;
  /** `Expect: 100-continue`: the client sends its body after the first `body.read()`. */
  readonly expectsContinue: boolean;
  readonly source: Peer;
  /** Server name of the TLS handshake (SNI); `undefined` without one. */
  readonly serverName: string | undefined;
  /** SHA-256 of the certificate that the client has shown in the TLS handshake, as base64url; `undefined` without one. */
  readonly clientCertificate?: string | undefined;
  /** Cancelled when the client disconnects. */
  readonly cancellation: Cancellation;
  /** Set by the handler, for `/debug/tasks`. */
  handledBy?: unknown;
  /** Names of the client for shares of a backend's connections: its address, and its identity; set by the handler. */
  owners?: readonly string[];
  /** Memory for bodies that wait: of the request, and over HTTP/2 of the response; set by the handler, which releases it. */
  held?: HeldBytes | undefined;
  /** Sends an interim response such as 103 to the client; ignored once the final response has started. */
  sendInformational(status: number, headers: HeaderList): void;
}

/** A response in the gateway; policies modify it in place. */
export interface ResponseMessage {
  /** 200–599, or 101 together with `tunnel`. */
  status: number;
  /** Fields without hop-by-hop fields; framing (`Content-Length`, `Transfer-Encoding`) is derived from `body`. */
  headers: HeaderList;
  body: Body | undefined;
  /** Set for 101: the following bytes of both sides are forwarded unchanged. */
  tunnel?: Tunnel;
}

/** An upstream connection that has switched to another protocol. */
export interface Tunnel {
  readonly transport: Transport;
  /** Bytes that arrived with the head of the 101 response. */
  readonly early: Uint8Array;
}

/** Result of sending a response. */
export interface Outcome {
  /** Body bytes written to the client's connection. */
  readonly bytesSent: number;
  /** Error that truncated the response, if any. */
  readonly error: unknown;
}

/** Result of a request handler: the response, and a callback for its end. */
export interface Reply {
  readonly response: ResponseMessage;
  /** Called exactly once, after the last byte or when the client disconnected. */
  finished(outcome: Outcome): void;
}

/** Handles requests; never throws: failures are responses. */
export type RequestHandler = (
  request: RequestMessage,
) => Reply | Promise<Reply>;

const idempotentMethods: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "PUT",
  "DELETE",
  "TRACE",
]);

/** Reports whether a request may be sent again when it is unknown if the first one arrived (RFC 9110 section 9.2.2). */
export function isIdempotent(method: string): boolean {
  return idempotentMethods.has(method);
}
