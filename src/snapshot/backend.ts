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
import type { HashKey } from "../policy/http/hash_key.ts";

/** Address of one instance of a backend. */
export interface Endpoint {
  /** IP address. */
  readonly host: string;
  readonly port: number;
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
