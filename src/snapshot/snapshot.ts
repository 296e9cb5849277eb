import type { JsonValue } from "../base/json.ts";
import type { UpstreamOptions, UpstreamTls } from "../http/client/upstream.ts";
import type { Identity } from "../policy/identity.ts";
import type { RunningPolicy } from "../policy/policy.ts";
import type { RouteTable } from "../route/route_table.ts";

/**
 * A configuration compiled whole: what a request needs, in the form in which it is needed.
 *
 * Immutable. A request uses the snapshot that was in force when it was accepted, to its end. State that outlives a
 * configuration (connections, budgets, keys) is elsewhere, under the `key`s found here.
 */
export interface Snapshot {
  readonly ports: readonly Port[];
  /** By `Backend.key`. */
  readonly backends: ReadonlyMap<string, Backend>;
  readonly credentials: CredentialNames;
  /** Identities that policies verify; traces show their claims. */
  readonly identities: readonly Identity[];
}

/** Where requests carry credentials because policies look there; in lower case. */
export interface CredentialNames {
  readonly headers: ReadonlySet<string>;
  /** Query parameters. */
  readonly parameters: ReadonlySet<string>;
}

/** The policies of a phase as traces show them, such as `{"cors": {…}, "jwt": null}`: merged, without secrets. */
export type DescribePolicies = (
  sensitiveHeaders: ReadonlySet<string>,
) => Readonly<Record<string, JsonValue>>;

/** One socket to listen on, shared by the listeners of that port and address. */
export interface Port {
  /** Such as `80`, or `127.0.0.1:80`; the same as long as the socket can stay. */
  readonly key: string;
  readonly port: number;
  /** IP address or host name to bind to; `undefined` for every interface. */
  readonly address: string | undefined;
  readonly maxConnections: number | undefined;
  readonly timeouts: ListenerTimeouts;
  /** Set when the port speaks TLS. */
  readonly tls: PortTls | undefined;
  /** The listener for a `Host`, most specific hostname first. */
  readonly listeners: readonly Listener[];
}

/** The part of a port that stays the same while it is open. */
export type PortId = Pick<Port, "key" | "port" | "address">;

/** In milliseconds; `undefined` is the engine's default. */
export interface ListenerTimeouts {
  readonly requestHeadersMs?: number;
  readonly requestBodyMs?: number;
  readonly idleMs?: number;
}

/** Certificates of a port; the first is used when none fits the client's server name. */
export interface PortTls {
  readonly certificates: readonly Certificate[];
  readonly clientCa: string | undefined;
  readonly clientCertificate: "none" | "request" | "require";
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
}

/** PEM texts of a certificate chain and its key, and the names it is for; empty is every name. */
export interface Certificate {
  readonly hostnames: readonly string[];
  readonly cert: string;
  readonly key: string;
}

/** What answers for one hostname of a port. */
export interface Listener {
  /** Such as `default/default/http`: namespace, gateway, listener. */
  readonly key: string;
  readonly gateway: string;
  readonly name: string;
  /** Lower case; `*` for any, `*.example.com` for its subdomains. */
  readonly hostname: string;
  /** Gateway phase, in order. */
  readonly policies: readonly RunningPolicy[];
  readonly describePolicies: DescribePolicies;
  readonly routes: RouteTable<Route>;
}

/** One rule of an HTTPRoute with everything that is attached to it. */
export interface Route {
  /** Such as `default/mcp/0`: namespace, route, rule. */
  readonly key: string;
  /** Name of the HTTPRoute. */
  readonly name: string;
  /** Path of the MCP server that the rule protects with OAuth, such as `/mcp`. */
  readonly resourcePath?: string;
  /** Route phase, in order. */
  readonly policies: readonly RunningPolicy[];
  readonly describePolicies: DescribePolicies;
  readonly backends: readonly WeightedBackend[];
  /** Sum of the backends' weights. */
  readonly totalWeight: number;
  readonly mirrors: readonly Mirror[];
  /** From the request's acceptance to the end of the response's head; 0 and `undefined` are no limit. */
  readonly requestTimeoutMs: number | undefined;
  /** For each try. */
  readonly backendTimeoutMs: number | undefined;
  readonly retry: Retry | undefined;
}

/** A backend with its share of the requests. */
export interface WeightedBackend {
  readonly weight: number;
  /** `undefined` when the reference does not resolve: its share is answered with 500. */
  readonly backend: Backend | undefined;
  /** Why not, for log and trace, such as `Backend "default/x" not found`. */
  readonly problem: string | undefined;
  /** Filters of the reference, then backend-phase policies. */
  readonly policies: readonly RunningPolicy[];
  readonly describePolicies: DescribePolicies;
}

/** A copy of requests that goes to another backend; its answer is dropped. */
export interface Mirror {
  readonly backend: Backend;
  /** 0 to 1. */
  readonly fraction: number;
}

/** When to try again, as `HTTPRouteRetry` defines it. */
export interface Retry {
  /** Tries after the first. */
  readonly attempts: number;
  /** Statuses of the upstream that are worth another try; connection failures always are. */
  readonly codes: ReadonlySet<number>;
  readonly backoffMs: number;
}

/** What the page of the web UI may do on a gateway. */
export type WebUiAccess = "read-only" | "read-write";

/** An upstream address and how to connect to it; every limit that is not set is unlimited or a default of the client. */
export interface Backend extends Omit<UpstreamOptions, "tls"> {
  /** Such as `default/llm`: namespace, name. */
  readonly key: string;
  readonly name: string;
  /** Set when the backend is the web UI of this process; then nothing connects to `host`. */
  readonly webUi?: WebUiAccess;
  /** `invalid` when its TLS policy cannot be applied: nothing connects to it, least of all in plain text. */
  readonly tls: UpstreamTls | "invalid" | undefined;
}
