import type { Body } from "./body.ts";
import type { Cancellation } from "../base/cancellation.ts";
import type { HeaderList } from "./header_list.ts";
import type { Peer, Transport } from "./transport.ts";

/** Version in which a message arrived, as it stands in `Via`. */
export type HttpVersion = "1.0" | "1.1" | "2";

/** A request on its way through the gateway; policies change it in place. */
export interface RequestMessage {
  readonly version: HttpVersion;
  /** Case-sensitive, such as `GET`. */
  method: string;
  /** `http` or `https`: how the client reached us. */
  scheme: string;
  /** `host` or `host:port` as the client sent it; there is no `Host` field in `headers`. */
  authority: string;
  /** Path and query exactly as sent, such as `/a%20b?c=1`; `*` for a server-wide OPTIONS. */
  target: string;
  /** Without `Host` and without hop-by-hop fields; those are read by the connection and gone. */
  headers: HeaderList;
  body: Body | undefined;
  /** Value of `Upgrade` when the client asked to leave HTTP, such as `websocket`. */
  readonly upgrade: string | undefined;
  /** True for `Expect: 100-continue`: the client holds its body back until the first `body.read()`. */
  readonly expectsContinue: boolean;
  readonly source: Peer;
  /** The name that the client asked for when it opened TLS (SNI); `undefined` without one. */
  readonly serverName: string | undefined;
  /** Cancelled when the client is gone. */
  readonly cancellation: Cancellation;
  /** Set by who handles the request, for those who ask what is under way. */
  handledBy?: unknown;
  /** Sends an interim response such as 103 to the client; does nothing once the final one started. */
  sendInformational(status: number, headers: HeaderList): void;
}

/** A response on its way back; policies change it in place. */
export interface ResponseMessage {
  /** 200–599, or 101 together with `tunnel`. */
  status: number;
  /** Without hop-by-hop fields; framing (`Content-Length`, `Transfer-Encoding`) follows from `body`. */
  headers: HeaderList;
  body: Body | undefined;
  /** Set on a 101: the bytes that follow on both sides are passed on as they are. */
  tunnel?: Tunnel;
}

/** An upstream connection that has left HTTP. */
export interface Tunnel {
  readonly transport: Transport;
  /** Bytes that came together with the head of the 101. */
  readonly early: Uint8Array;
}

/** How delivering a response ended. */
export interface Outcome {
  /** Body bytes handed to the client's connection. */
  readonly bytesSent: number;
  /** Why the response was cut short, if it was. */
  readonly error: unknown;
}

/** What a request handler answers: the response, and who wants to hear how its delivery ended. */
export interface Reply {
  readonly response: ResponseMessage;
  /** Called exactly once, after the last byte or when the client left. */
  finished(outcome: Outcome): void;
}

/** Answers requests; never throws: failures are responses. */
export type RequestHandler = (
  request: RequestMessage,
) => Reply | Promise<Reply>;
