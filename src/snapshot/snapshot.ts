import type { JsonValue } from "../base/json.ts";
import type { BackendCredentials } from "../identity/backend_tokens/backend_credentials.ts";
import type { UpstreamOptions, UpstreamTls } from "../http/client/upstream.ts";
import type {
  McpAddress,
  McpServerSettings,
} from "../mcp/servers/mcp_settings.ts";
import type { DiscoverySettings } from "../mcp/discovery/tool_search.ts";
import type {
  OperationSelection,
  RestApi,
} from "../mcp/openapi/document/rest_tool.ts";
import type { StdioCommand } from "../mcp/servers/stdio/stdio_command.ts";
import type { LlmTarget } from "../llm/llm_target.ts";
import type { Identity } from "../policy/contract/identity.ts";
import type { HashKey } from "../policy/http/hash_key.ts";
import type { RunningPolicy } from "../policy/contract/policy.ts";
import type { RouteTable } from "../route/route_table.ts";

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

/** Address of one instance of a backend. */
export interface Endpoint {
  /** IP address. */
  readonly host: string;
  readonly port: number;
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

/** Access of the web UI page on a gateway. */
export type WebUiAccess = "read-only" | "read-write";

/** An upstream address and how to connect to it; every limit that is not set is unlimited or a default of the client. */
export interface Backend extends Omit<UpstreamOptions, "tls" | "egress"> {
  /** Such as `default/llm`: namespace, name. */
  readonly key: string;
  readonly name: string;
  /** Set when the backend is the web UI of this process; then nothing connects to `host`. */
  readonly webUi?: WebUiAccess;
  /** Set when the backend is a port of a service: requests go to the endpoints of the port with this name, not to `host`. */
  readonly service?: { readonly name: string; readonly portName: string };
  /** Time without a response after which a request goes to another backend of its route; `undefined` for no such limit. */
  readonly failoverAfterMs?: number | undefined;
  /** Set when requests get a key or a token in place of the client's. */
  readonly credentials?: BackendCredentials | undefined;
  /** Set when the backend is an LLM provider, whose requests get its paths and its key. */
  readonly llm?: LlmTarget;
  /** Set when the backend is an endpoint of MCP servers; then nothing connects to `host`. */
  readonly mcp?: McpTarget;
  /** `invalid` when its TLS policy cannot be applied: nothing connects to it, least of all in plain text. */
  readonly tls: UpstreamTls | "invalid" | undefined;
  /** Hosts and ports of a backend with several; the first is `host` and `port`. */
  readonly hosts?: readonly Endpoint[];
  /** Omitted for the defaults. */
  readonly balancing?: Balancing;
  /** Omitted when only the responses to requests tell the health of endpoints. */
  readonly healthCheck?: HealthCheck;
  /** Omitted for the defaults. */
  readonly lookups?: LookupSettings;
}

/** MCP servers behind one endpoint. */
export interface McpTarget {
  readonly servers: readonly McpTargetServer[];
  /** Set if clients search for tools; otherwise all are listed. */
  readonly discovery?: DiscoverySettings | undefined;
}

/** One of the servers. */
export interface McpTargetServer {
  readonly settings: McpServerSettings;
  /** Address for humans; see `McpServerStatus`. */
  readonly address: string;
  readonly transport: McpTransport;
}

/** Address of an MCP server, by its kind. */
export type McpTransport =
  | {
    readonly kind: "http" | "sse";
    readonly address: McpAddress;
    /** Backend of the requests; its key is that of the endpoint's backend with `#` and the name of the server. */
    readonly backend: Backend;
  }
  | { readonly kind: "stdio"; readonly command: StdioCommand }
  | {
    readonly kind: "openapi";
    readonly api: RestApi;
    readonly operations: OperationSelection;
    readonly document: McpDocument;
    /** As that of a remote server. */
    readonly backend: Backend;
  };

/** The OpenAPI document of an API: its content, or where it is. */
export type McpDocument =
  | { readonly text: string }
  | {
    /** Host, with its port unless that is implied. */
    readonly authority: string;
    /** Path and query. */
    readonly path: string;
    readonly backend: Backend;
  };

/** Settings that spread the requests of a backend over its endpoints. */
export interface Balancing {
  readonly policy: "LeastRequest" | "RoundRobin" | "Random" | "ConsistentHash";
  /** Header whose value decides with `ConsistentHash`, in lower case. */
  readonly hashHeader?: string | undefined;
  /** In place of the header. */
  readonly hashKey?: HashKey | undefined;
  /** True if any endpoint can serve any MCP session. */
  readonly sharesSessions?: boolean;
  /** Time in which a new endpoint gets a growing share of the requests; 0 for all at once. */
  readonly slowStartMs: number;
  readonly ejection: Ejection;
}

/** Settings for endpoints that fail: they get no requests for a while. */
export interface Ejection {
  /** Connections in a row that cannot be opened; `Infinity` for no limit. */
  readonly connectFailures: number;
  /** Responses with a status of 5xx, time-outs and closed connections in a row; `Infinity` for no limit. */
  readonly errors: number;
  /** Limit of the average time to the response head; `undefined` for none. */
  readonly latencyMs: number | undefined;
  /** Duration of the first ejection; each further one in a row lasts twice as long. */
  readonly baseMs: number;
  readonly maxMs: number;
  /** Part of the endpoints that errors and latency may eject. */
  readonly maxPercent: number;
}

/** Checks of endpoints by requests of the gateway's own. */
export interface HealthCheck {
  readonly path: string;
  /** Host, with its port unless that is implied. */
  readonly authority: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Failed checks in a row. */
  readonly unhealthyThreshold: number;
  /** Passed checks in a row. */
  readonly healthyThreshold: number;
  /** Of a passed check; `undefined` for 200 to 299. */
  readonly statuses: readonly number[] | undefined;
}

/** Look-ups of the addresses of names. */
export interface LookupSettings {
  /** Age from which addresses are looked up again. */
  readonly refreshMs: number;
  readonly timeoutMs: number;
}

/** Look-ups of backends without settings of their own. */
export const defaultLookups: LookupSettings = {
  refreshMs: 30_000,
  timeoutMs: 5000,
};

/** Balancing of backends without settings of their own. */
export const defaultBalancing: Balancing = {
  policy: "LeastRequest",
  slowStartMs: 0,
  ejection: {
    connectFailures: 2,
    errors: 5,
    latencyMs: undefined,
    baseMs: 10_000,
    maxMs: 300_000,
    maxPercent: 50,
  },
};

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
