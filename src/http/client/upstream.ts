import type { Cancellation } from "../../base/cancellation.ts";
import type { Body } from "../body.ts";
import type { RequestMessage, ResponseMessage } from "../message.ts";

/** The part of a request that goes upstream. */
export type UpstreamRequest = Pick<
  RequestMessage,
  | "method"
  | "authority"
  | "target"
  | "headers"
  | "upgrade"
  | "expectsContinue"
  | "sendInformational"
>;

/** One backend address, the connections to it and how they are used. */
export interface Upstream {
  /**
   * Sends the request; resolves with the response as soon as its head is here.
   *
   * The response's body must be read to the end or cancelled: it holds a connection. When it rejects, `body` was either not
   * touched or has been cancelled. A request is sent a second time, on another connection, only when the first one cannot have
   * been acted on, or is idempotent and went to a pooled connection that ended without a byte of an answer.
   * @throws {GatewayError} `upstream_*`, `client_closed`, or whatever `cancellation` or `body` gave as the reason.
   */
  send(
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage>;
  /** Closes idle connections now and the others after their request; still sends, without pooling. */
  retire(): void;
  /** Closes everything now. */
  close(): void;
  readonly stats: UpstreamStats;
  readonly bounds: UpstreamBounds;
}

/** What an upstream never exceeds. */
export interface UpstreamBounds {
  readonly connections: number;
  /** Requests that wait for a connection. */
  readonly pending: number;
}

/** Counters of one upstream. */
export interface UpstreamStats {
  /** Open connections without a request. */
  readonly idle: number;
  /** Open connections with at least one request. */
  readonly active: number;
  /** Requests that wait for a connection. */
  readonly pending: number;
  /** Connections opened since the start. */
  readonly connects: number;
  /** Requests that went to a connection which had served one before. */
  readonly reuses: number;
}

/** Where and how to connect; limits in milliseconds. */
export interface UpstreamOptions {
  readonly host: string;
  readonly port: number;
  /** `auto` is whatever TLS negotiates, and HTTP/1.1 without TLS. */
  readonly protocol: "auto" | "http1" | "http2";
  readonly tls: UpstreamTls | undefined;
  /** Default 1024. */
  readonly maxConnections?: number | undefined;
  /** Requests that may wait for a connection; default 1024. */
  readonly maxPendingRequests?: number | undefined;
  /** For getting a connection, from the pool or new with its TLS handshake; default 10 s. */
  readonly connectTimeoutMs?: number | undefined;
  /** From the last byte of the request to the end of the response's head; default none. */
  readonly firstByteTimeoutMs?: number | undefined;
  /** Between two reads of a response's body, or writes of a request's; default none. */
  readonly idleTimeoutMs?: number | undefined;
}

/** How an upstream's certificate is verified; there is no way to switch that off. */
export interface UpstreamTls {
  /** Sent as the server name and verified, in place of the host that is connected to. */
  readonly hostname: string;
  /** Names of which the certificate must have one, in place of `hostname`: host names or URIs. */
  readonly subjectAltNames: readonly string[];
  /** PEM certificates that replace the trusted roots; `undefined` for those of the operating system. */
  readonly caCertificates: readonly string[] | undefined;
  /** What we show to an upstream that asks, PEM. */
  readonly clientCertificate?: { readonly cert: string; readonly key: string };
}
