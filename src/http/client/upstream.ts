import type { Cancellation } from "../../base/cancellation.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
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
  | "owners"
>;

/** A backend address with its connections. */
export interface Upstream {
  /**
   * Sends the request; resolves with the response when its head has arrived.
   *
   * The response's body must be read to the end or cancelled: it occupies a connection. If `send` rejects, `body` was either not
   * read or has been cancelled. A request is sent again, on another connection, only if the upstream cannot have processed it,
   * or if it is idempotent and its pooled connection ended without a byte of a response.
   * @throws {GatewayError} `upstream_*`, `client_closed`, or the reason of `cancellation` or `body`.
   */
  send(
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage>;
  /** Closes idle connections now and the others after their requests; still sends, without pooling. */
  retire(): void;
  /** Closes all connections. */
  close(): void;
  /** Requests under way and waiting; cheap to read. */
  readonly load: number;
  readonly stats: UpstreamStats;
  readonly bounds: UpstreamBounds;
}

/** Limits of an upstream. */
export interface UpstreamBounds {
  readonly connections: number;
  /** Requests waiting for a connection. */
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
  /** Requests sent on a connection that had served another before. */
  readonly reuses: number;
}

/** Default of `maxConnections`. */
export const DEFAULT_MAX_CONNECTIONS = 1024;
/** Default of `maxPendingRequests`. */
export const DEFAULT_MAX_PENDING = 1024;

/** Address and connection settings of an upstream; limits in milliseconds. */
export interface UpstreamOptions {
  readonly host: string;
  readonly port: number;
  /** `auto`: negotiated with TLS, HTTP/1.1 without. */
  readonly protocol: "auto" | "http1" | "http2";
  readonly tls: UpstreamTls | undefined;
  /** Decides which addresses of the host it may connect to; without it, all. */
  readonly egress?: EgressPolicy;
  /** Ports on the loopback interface that may be reached in a cluster. */
  readonly loopbackPorts?: readonly number[];
  /** Default 1024. */
  readonly maxConnections?: number | undefined;
  /** Requests that may wait for a connection; default 1024. */
  readonly maxPendingRequests?: number | undefined;
  /** Time limit to get a connection, from the pool or a new one including its TLS handshake; default 10 s. */
  readonly connectTimeoutMs?: number | undefined;
  /** Time limit from the last byte of the request to the end of the response head; default unlimited. */
  readonly firstByteTimeoutMs?: number | undefined;
  /** Time limit between two reads of a response body, or writes of a request body; default unlimited. */
  readonly idleTimeoutMs?: number | undefined;
  /** Limits of event streams and gRPC in place of both, for their messages may be far apart; default: the same limits. */
  readonly streamTimeouts?: {
    readonly firstByteMs: number | undefined;
    readonly idleMs: number | undefined;
  };
}

/** Verification of an upstream's certificate, which cannot be disabled. */
export interface UpstreamTls {
  /** Server name (SNI) that is sent and verified, instead of the connected host. */
  readonly hostname: string;
  /** The certificate must have one of these hostnames or URIs, instead of `hostname`. */
  readonly subjectAltNames: readonly string[];
  /** Trusted CAs, PEM; `undefined` for those of the operating system. */
  readonly caCertificates: readonly string[] | undefined;
  /** Client certificate for upstreams that request one, PEM. */
  readonly clientCertificate?: ClientCertificate;
}

/** A certificate that the gateway presents, and its key, PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}
