import type { JsonValue } from "../base/json.ts";
import type { Identity } from "../policy/contract/identity.ts";
import type { RunningPolicy } from "../policy/contract/policy.ts";
import type { RouteTable } from "../route/route_table.ts";
import type { Backend, Endpoint } from "./backend.ts";

/**
 * A compiled configuration: everything that requests need, in the form in which they need it.
 *
 * Immutable. A request uses the snapshot that was current when it was accepted, to its end. State that outlives a configuration
 * (connections, budgets, keys) is stored elsewhere, under the `key`s of this snapshot.
 */
export interface Snapshot {
  readonly ports: readonly Port[];
  /** By `Backend.key`. */
  readonly backends: ReadonlyMap<string, Backend>;
  readonly credentials: CredentialNames;
  /** Identities that policies verify; traces show their claims. */
  readonly identities: readonly Identity[];
}

/** Endpoints by service, `namespace/name`, and name of its port. */
export type ServiceEndpoints = ReadonlyMap<
  string,
  ReadonlyMap<string, readonly Endpoint[]>
>;

/** Header fields and query parameters that carry credentials because a policy reads them there; in lower case. */
export interface CredentialNames {
  readonly headers: ReadonlySet<string>;
  /** Query parameters. */
  readonly parameters: ReadonlySet<string>;
  /** Values of the environment that the configuration puts in bodies. */
  readonly contents?: ReadonlySet<string>;
}

/** Describes the policies of a phase for traces, such as `{"cors": {…}, "jwt": null}`: merged, without secrets. */
export type DescribePolicies = (
  sensitiveHeaders: ReadonlySet<string>,
) => Readonly<Record<string, JsonValue>>;

/** A port at one address, shared by its listeners. */
export interface Port {
  /** Such as `80`, or `127.0.0.1:80`; the same as long as the socket can stay. */
  readonly key: string;
  readonly port: number;
  /** IP address or hostname to bind to; `undefined` for every interface. */
  readonly address: string | undefined;
  readonly maxConnections: number | undefined;
  /** Of one client address; `undefined` is half of `maxConnections`. */
  readonly maxConnectionsPerAddress: number | undefined;
  /** Bytes per second; 0 for no minimum. */
  readonly minRequestBodyRate: number | undefined;
  /** Bytes per second; 0 for no minimum. */
  readonly minResponseBodyRate: number | undefined;
  readonly timeouts: ListenerTimeouts;
  /** Set when the port speaks TLS. */
  readonly tls: PortTls | undefined;
  /** The listener for a `Host`, most specific hostname first. */
  readonly listeners: readonly Listener[];
}

/** The part of a port that stays the same while it is open. */
export type PortId = Pick<Port, "key" | "port" | "address">;

/** In milliseconds; `undefined` for the default of the server. */
export interface ListenerTimeouts {
  readonly requestHeadersMs?: number;
  readonly requestBodyMs?: number;
  readonly idleMs?: number;
  readonly webSocketMs?: number;
}

/** Certificates of a port; the first is used when none matches the client's server name. */
export interface PortTls {
  readonly certificates: readonly Certificate[];
  readonly clientCa: string | undefined;
  /** `any` accepts every client, whatever certificate it presents; `request` rejects those with an invalid one. */
  readonly clientCertificate: "none" | "any" | "request" | "require";
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
}

/** A certificate chain and its key in PEM, and its hostnames; empty for every hostname. */
export interface Certificate {
  readonly hostnames: readonly string[];
  readonly cert: string;
  readonly key: string;
}

/** A listener of a port: one hostname. */
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
  /** Some routes have conditions on the model of requests to LLMs. */
  readonly readsModel: boolean;
  /** For requests that no route matches. */
  readonly fallbacks?: RouteTable<Route> | undefined;
}

/** One rule of an HTTPRoute with everything attached to it. */
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
  /** Sum of the weights of the backends. */
  readonly totalWeight: number;
  /** The backends by priority, the first one first; set when there are several backends. */
  readonly groups?: readonly BackendGroup[] | undefined;
  /** Requests of every method go to another backend when a response shows a failure: with priorities, and among LLM providers. */
  readonly replaysFailures?: boolean | undefined;
  /** Set with `groups`. */
  readonly choice?: GroupChoice | undefined;
  readonly mirrors: readonly Mirror[];
  /** Set when requests of a client stay at one endpoint. */
  readonly sessions?: PersistentSessions | undefined;
  /** From the acceptance of the request to the end of the response head; 0 and `undefined` are unlimited. */
  readonly requestTimeoutMs: number | undefined;
  /** For each attempt. */
  readonly backendTimeoutMs: number | undefined;
  readonly retry: Retry | undefined;
}

/** Sessions of a route's clients, whose endpoint is in a cookie or header. */
export interface PersistentSessions {
  readonly type: "Cookie" | "Header";
  readonly name: string;
  /** `undefined` for no limit. */
  readonly lifetimeMs: number | undefined;
  /** Clients keep the cookie for `lifetimeMs`. */
  readonly isPermanent: boolean;
  /** Of 32 bytes; seals the endpoint. */
  readonly key: Uint8Array;
}

/** The backends of a route with the same priority. */
export interface BackendGroup {
  readonly backends: readonly WeightedBackend[];
}

/** Settings by which requests find their backend among several. */
export interface GroupChoice {
  readonly policy: "Weighted" | "LeastLatency" | "LowestCost" | "MostQuota";
  /** All backends are LLM providers: what is known of them is known by model. */
  readonly isLlm: boolean;
  /** An answer that a provider withholds sends the request to another backend. */
  readonly leavesFilters: boolean;
  /** Time after which a second backend gets the request too; `undefined` for never. */
  readonly hedgeMs: number | undefined;
}

/** A backend with its share of the requests. */
export interface WeightedBackend {
  /** Backends with a higher number get requests when those with a lower one fail. */
  readonly priority: number;
  readonly weight: number;
  /** `undefined` when the reference does not resolve: its share of requests gets 500. */
  readonly backend: Backend | undefined;
  /** Reason for log and trace that the reference does not resolve, such as `Backend "default/x" not found`. */
  readonly problem: string | undefined;
  /** Filters of the reference, then backend-phase policies. */
  readonly policies: readonly RunningPolicy[];
  readonly describePolicies: DescribePolicies;
}

/** A backend that gets copies of requests; its responses are dropped. */
export interface Mirror {
  readonly backend: Backend;
  /** 0 to 1. */
  readonly fraction: number;
}

/** When to retry, as `HTTPRouteRetry` defines it. */
export interface Retry {
  /** Attempts after the first. */
  readonly attempts: number;
  /** Statuses of the upstream that are retried; connection failures always are. */
  readonly codes: ReadonlySet<number>;
  /** Codes of errors after which requests of every method are retried, though the upstream may have processed them. */
  readonly errors: ReadonlySet<string>;
  readonly backoffMs: number;
}

/** Holds the current snapshot; a request reads it once. */
export class SnapshotStore {
  #current: Snapshot;

  constructor(initial: Snapshot) {
    this.#current = initial;
  }

  get current(): Snapshot {
    return this.#current;
  }

  /** Makes `next` current for requests accepted from now on. */
  swap(next: Snapshot): void {
    this.#current = next;
  }
}
