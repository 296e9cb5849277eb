/** JSON of the endpoints that the page uses. The page imports these types, so that both sides agree. */
import type { AdminRole } from "../../src/api/admin_login_schema.ts";
import type { AdminUser } from "../../src/gateway/admin_login/admin_login_types.ts";
import type { PartsResult } from "../../src/policy/cel/evaluate_parts.ts";
import type { HttpMatch } from "../../src/api/rules/http_match.ts";
import type {
  DescribedConnections,
  DescribedMcpServer,
  DescribedMcpTools,
  DescribedPart,
  Outline,
  TaskTree,
} from "../../src/dataplane/calls/descriptions.ts";
import type { PolicyStateDescription } from "../../src/dataplane/state/state_descriptions.ts";
import type { KeyObjectView } from "../../src/dataplane/keyring/keyring_views.ts";
import type {
  DraftChanges,
  DraftResult,
  ShownPast,
  ShownSource,
} from "../../src/gateway/editing/configuration_editor.ts";
import type { TrialReport } from "../../src/gateway/trial/trial_report.ts";
import type {
  GatewayStatus,
  Readiness,
  RejectedConfiguration,
} from "../../src/gateway/gateway_status.ts";
import type {
  RequestPage,
  RequestReport,
} from "../../src/telemetry/requests/logged_request.ts";
import type { TrafficReport } from "../../src/telemetry/traffic/traffic_report.ts";
import type { MemoryReport } from "../target/process_memory.ts";
import type { PageProfile } from "../profiles/pprof.ts";
import type { GrantView } from "../endpoints/views/grant_view.ts";
import type { UsageReport } from "../endpoints/views/usage_sums.ts";
import type { BudgetSelection } from "./select_budgets.ts";

/** The responses by the paths of their endpoints; `*` stands for a segment. */
export interface UiResponses {
  readonly status: UiStatus;
  readonly config: ShownConfiguration;
  readonly "config/part": DescribedPart;
  readonly budgets: BudgetSelection;
  readonly keys: Pick<
    PolicyStateDescription,
    "keySets" | "providerMetadata"
  >;
  readonly "access/keys": KeyObjectList;
  readonly "access/teams": KeyObjectList;
  readonly "access/create/key": ChangedKeyObject;
  readonly "access/create/team": ChangedKeyObject;
  readonly "access/change/*": ChangedKeyObject;
  readonly connections: DescribedConnections;
  readonly "connections/revoke": { readonly isConfirmed: boolean };
  readonly grants: GrantList;
  readonly "grants/revoke": { readonly revoked: number };
  readonly "mcp/servers": McpServerList;
  readonly "mcp/tools": McpToolList;
  readonly "mcp/approve": { readonly approved: readonly string[] };
  readonly "mcp/revoke": { readonly revoked: readonly string[] };
  readonly memory: MemoryReport;
  readonly tasks: TaskTree;
  readonly usage: UsageReport;
  readonly traffic: TrafficReport;
  readonly requests: RequestPage;
  readonly "requests/*": RequestReport;
  readonly source: UiSource;
  readonly "source/check": DraftResult;
  readonly "source/apply": DraftResult;
  readonly "source/compare": DraftChanges;
  readonly "source/history": readonly ShownPast[];
  readonly "source/history/compare": DraftChanges;
  readonly "source/files/compare": DraftChanges;
  readonly "source/history/apply": DraftResult;
  readonly try: TrialReport;
  readonly "playground/evaluate": PartsResult;
  readonly "profiles/*": PageProfile;
}

/** MCP servers of all backends. */
export interface McpServerList {
  readonly servers: readonly DescribedMcpServer[];
}

/** MCP servers with their tools. */
export interface McpToolList {
  readonly servers: readonly DescribedMcpTools[];
}

/** MCP clients that users have logged in, the oldest first. */
export interface GrantList {
  readonly grants: readonly GrantView[];
  /** There are more, which are older. */
  readonly hasMore: boolean;
}

/** Keys or teams in the store. */
export interface KeyObjectList {
  readonly objects: readonly KeyObjectView[];
  readonly hasMore: boolean;
}

/** An object after a change. */
export interface ChangedKeyObject {
  readonly object: KeyObjectView;
  /** A new key, which nobody can read again. */
  readonly secret?: string;
}

/** The gateway and the access of the page. */
export interface UiStatus
  extends Pick<GatewayStatus, "hash" | "appliedAt" | "startedAt" | "routes"> {
  readonly version: Readonly<Record<string, string>>;
  readonly readiness: Readiness;
  readonly lastRejected: RejectedConfiguration | null;
  /** Server of the page: on a gateway, traces include its own requests. */
  readonly server: "admin" | "gateway";
  /** The page cannot change anything. */
  readonly readOnly: boolean;
  /** Of the user; `admin` where no login says otherwise. */
  readonly role: AdminRole;
  /** User who is logged in; `null` without a login. */
  readonly user: AdminUser | null;
  /** Names of the profiles that can be taken. */
  readonly profiles: readonly string[];
  /** The process has the store of `config.kv`, which keys can be in. */
  readonly hasStore: boolean;
  /** Users can connect accounts at services. */
  readonly hasConnections: boolean;
  /** The source of the configuration can be shown. */
  readonly hasSource: boolean;
}

/** The source of the configuration, and what the page may do with it. */
export interface UiSource extends ShownSource {
  /** Changes require an admin token, which is not configured. */
  readonly needsToken: boolean;
}

/** The configuration in force: of routes, what lists of them show. */
export interface ShownConfiguration extends Omit<Outline, "routes"> {
  readonly routes: readonly ShownRoute[];
  readonly endpoints?: TaskTree["upstreams"];
}

/** A listener of the configuration in force. */
export type ShownListener = Outline["listeners"][number];

/** A route of the configuration in force. */
export interface ShownRoute extends Omit<Outline["routes"][number], "matches"> {
  readonly matches: readonly HttpMatch[];
}

/** A policy in force: its value, and where that comes from. */
export type ShownPolicy = ShownListener["policies"][number];

/** A backend of the configuration in force. */
export type ShownBackend = Outline["backends"][number];
