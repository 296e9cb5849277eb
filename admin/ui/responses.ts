/** JSON of the endpoints that the page uses. The page imports these types, so that both sides agree. */
import type { PartsResult } from "../../src/policy/cel/evaluate_parts.ts";
import type { TaskTree } from "../../src/dataplane/calls/descriptions.ts";
import type {
  DraftResult,
  ShownSource,
} from "../../src/gateway/configuration_editor.ts";
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
import type { UsageReport } from "../endpoints/usage_sums.ts";
import type { BudgetSelection } from "./select_budgets.ts";

/** The responses by the paths of their endpoints; `*` stands for a segment. */
export interface UiResponses {
  readonly status: UiStatus;
  readonly config: ShownConfiguration;
  readonly budgets: BudgetSelection;
  readonly keys: ShownKeys;
  readonly memory: MemoryReport;
  readonly tasks: TaskTree;
  readonly usage: UsageReport;
  readonly traffic: TrafficReport;
  readonly requests: RequestPage;
  readonly "requests/*": RequestReport;
  readonly source: UiSource;
  readonly "source/check": DraftResult;
  readonly "source/apply": DraftResult;
  readonly "playground/evaluate": PartsResult;
  readonly "profiles/*": PageProfile;
}

/** The gateway and the access of the page. */
export interface UiStatus extends Pick<GatewayStatus, "hash" | "appliedAt"> {
  readonly version: Readonly<Record<string, string>>;
  readonly readiness: Readiness;
  readonly lastRejected: RejectedConfiguration | null;
  /** Server of the page: on a gateway, traces include its own requests. */
  readonly server: "admin" | "gateway";
  /** The page cannot change anything. */
  readonly readOnly: boolean;
  /** Names of the profiles that can be taken. */
  readonly profiles: readonly string[];
  /** The source of the configuration can be shown. */
  readonly hasSource: boolean;
}

/** The source of the configuration, and what the page may do with it. */
export interface UiSource extends ShownSource {
  /** Changes require an admin token, which is not configured. */
  readonly needsToken: boolean;
}

/** The configuration in force, as far as the page uses it. */
export interface ShownConfiguration {
  readonly listeners: readonly ShownListener[];
  readonly routes: readonly ShownRoute[];
  readonly backends: readonly ShownBackend[];
  readonly endpoints?: TaskTree["upstreams"];
  readonly policies: readonly { readonly key?: string }[];
}

/** A listener of the configuration in force. */
export interface ShownListener {
  readonly key: string;
  readonly gatewayName: string;
  readonly gatewayNamespace: string;
  readonly listenerName: string;
  readonly hostname: string;
  readonly port: number;
  readonly protocol: string;
  readonly policies: readonly ShownPolicy[];
  readonly routes: readonly string[];
}

/** A route of the configuration in force. */
export interface ShownRoute {
  readonly key: string;
  readonly name: string;
  readonly ruleName?: string;
  readonly listener: string;
  readonly hostnames: readonly string[];
  readonly matches: readonly {
    readonly path: { readonly type: string; readonly value: string };
    readonly method?: string;
    readonly headers?: readonly unknown[];
    readonly queryParams?: readonly unknown[];
  }[];
  readonly backends: readonly {
    readonly backend?: string;
    readonly problem?: string;
  }[];
  readonly policies: readonly ShownPolicy[];
}

/** A policy in force: what it is made of, and where that comes from. */
export interface ShownPolicy {
  readonly kind: string;
  /** Such as `GatewayPolicy/default/name`. */
  readonly source: string;
  readonly config: unknown;
}

/** A backend of the configuration in force. */
export interface ShownBackend {
  readonly key: string;
  readonly name: string;
  readonly target: string;
  readonly tls?: unknown;
  readonly llm?: unknown;
}

/** Documents of identity providers. */
export interface ShownKeys {
  readonly keySets: readonly ShownDocument[];
  readonly providerMetadata: readonly ShownDocument[];
}

/** A document of an identity provider; an inline one has no history. */
export interface ShownDocument {
  readonly source: string;
  readonly lastError?: string | null;
  readonly leftOutKeys?: readonly string[];
  readonly issuers?: readonly string[];
  readonly keys?: number;
  readonly kids?: readonly string[];
  readonly fetchedAt?: string | null;
  readonly ageSeconds?: number | null;
  readonly refreshes?: number;
  readonly failures?: number;
  readonly retryAt?: string | null;
  readonly refreshAt?: string | null;
}
