import type { ConnectionList } from "../../identity/connections/admin_connections.ts";
import type { GrantRecord } from "../../identity/oauth/grants/grant_record.ts";
import type { DescribedServerTools } from "../../mcp/approval/tool_descriptions.ts";
import type { McpServerStatus } from "../../mcp/servers/server_status.ts";
import type { Description } from "../../compile/describe/describe.ts";
import type { DescribedPart, Outline } from "../../compile/describe/outline.ts";
import type { LoggedRequest } from "../../telemetry/requests/logged_request.ts";
import type { WatcherState } from "../../telemetry/trace/trace_watchers.ts";
import type {
  DocumentDescription,
  PolicyStateDescription,
} from "../state/state_descriptions.ts";
import type { BackendTasks } from "./backend_tasks.ts";

/** Top-level keys of `/config_dump` that come from the data plane. */
export type DataPlaneDescription = Description & PolicyStateDescription;

export type { DescribedPart, Outline };

/** Connections of users at services, without tokens. */
export type DescribedConnections = ConnectionList;

/** A grant of an MCP client that a user has logged in, without tokens. */
export type DescribedGrant = GrantRecord;

/** Everything under way, for `/debug/tasks`. */
export interface TaskTree extends BackendTasks {
  /** RFC 3339. */
  readonly takenAt: string;
  /** Total numbers, omitted ones included. */
  readonly connections: number;
  readonly requests: number;
  /** Connections and requests beyond `limit`. */
  readonly omitted: number;
  readonly listeners: readonly ListenerTask[];
  /** Keys of identity providers; `fetchingMs` is set during a fetch. */
  readonly keySets: readonly DocumentDescription[];
  /** Metadata of authorization servers; `fetchingMs` is set during a fetch. */
  readonly providerMetadata: readonly DocumentDescription[];
  /** Global limits, with the share that this process holds. */
  readonly leases: readonly unknown[];
  /** Readers of traces. */
  readonly watchers: readonly WatcherState[];
}

/** A port that is open or draining. */
export interface ListenerTask {
  /** As configured. */
  readonly port: number;
  readonly state: "accepting" | "draining";
  /** Connections with requests first. */
  readonly connections: readonly ConnectionTask[];
}

/** A downstream connection. */
export interface ConnectionTask {
  readonly peer: string;
  /** `http/1.1` or `h2`. */
  readonly protocol: string;
  readonly ageMs: number;
  /** Number of the worker, from 1; omitted without workers. */
  readonly worker?: number;
  readonly requests: readonly RequestTask[];
}

/** A request under way. */
export interface RequestTask extends
  Pick<
    LoggedRequest,
    | "id"
    | "method"
    | "host"
    | "path"
    | "gateway"
    | "route"
    | "backend"
    | "retries"
  > {
  readonly phase: RequestPhase;
  readonly ageMs: number;
  /** `host:port`. */
  readonly endpoint: string | null;
  /** Identity of the client, once it is verified. */
  readonly client: string | null;
}

/** The stage of a request: `upstream` until the response head arrives, `response` until the last byte is sent. */
export type RequestPhase =
  | "gateway policies"
  | "route policies"
  | "upstream"
  | "response"
  | "tunnel";

/** A bounded store in memory. */
export interface BoundedStore {
  /** Such as `rateLimitKeys`. */
  readonly name: string;
  /** Identifies one of several, such as a port. */
  readonly scope?: string;
  /** Unit of the counts, such as `keys`. */
  readonly unit: string;
  readonly used: number;
  readonly capacity: number;
}

/** Memory of the JavaScript heap of a thread. */
export interface HeapSize {
  readonly totalBytes: number;
  readonly usedBytes: number;
  readonly limitBytes: number;
  /** Owned by objects of the heap, but outside of it: mostly buffers. */
  readonly externalBytes: number;
}

/** Memory of a worker. */
export interface ThreadHeap extends HeapSize {
  /** From 1. */
  readonly worker: number;
}

/** An address that accepts requests. */
export interface PortAddress {
  /** As configured; 0 for any free port. */
  readonly configuredPort: number;
  /** Connections to it are TLS. */
  readonly isTls: boolean;
  /** IP address that the socket is bound to. */
  readonly hostname: string;
  /** Port that the socket is bound to. */
  readonly port: number;
}

/** An MCP server with its state. */
export interface DescribedMcpServer extends McpServerStatus {
  /** Key of the backend, such as `default/tools`. */
  readonly backend: string;
}

/** The tools of an MCP server. */
export interface DescribedMcpTools extends DescribedServerTools {
  /** Key of the backend. */
  readonly backend: string;
}
