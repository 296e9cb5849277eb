import type { Settings } from "../../api/settings.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log/log.ts";
import type { Compiled } from "../../compile/compile.ts";
import type { BodyMemory } from "../../http/body_memory.ts";
import type { AdminConnections } from "../../identity/connections/admin_connections.ts";
import type { Cooldowns } from "../../proxy/failover/cooldowns.ts";
import type { McpEndpoints } from "../../proxy/mcp/mcp_endpoints.ts";
import type { Listeners } from "../../proxy/ports/listeners.ts";
import type { Upstreams } from "../../proxy/upstreams.ts";
import type { MetricRegistry } from "../../telemetry/metrics/metrics.ts";
import type { WatcherState } from "../../telemetry/trace/trace_watchers.ts";
import type { TrafficStore } from "../../telemetry/traffic/traffic_store.ts";
import type { Keyring } from "../keyring/keyring.ts";
import type { ControlState } from "../state/control_state.ts";
import type { PinBook } from "../state/stores/pin_book.ts";
import type { PolicyState } from "../state/policy_state.ts";
import type { Debugging } from "./debugging.ts";
import type { EndedMetrics } from "./merge_metrics.ts";
import type { ThreadProfiles } from "./thread_profiles.ts";

/** Parts of a thread that carries traffic. */
export interface TrafficThread {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: Settings;
  readonly registry: MetricRegistry;
  readonly listeners: Listeners;
  readonly upstreams: Upstreams;
  readonly mcp: McpEndpoints;
  readonly cooldowns: Cooldowns;
  readonly state: PolicyState;
  readonly debugging: Debugging;
  readonly bodyMemory: BodyMemory;
  /** Set in workers: the main thread is profiled by those who call the others. */
  readonly profiles: ThreadProfiles | undefined;
  /** Connections of users at services; `undefined` without `config.connections`. */
  readonly accounts: AdminConnections | undefined;
  /** Returns the configuration in force. */
  compiled(): Compiled | undefined;
}

/** Parts of the thread that calls those with traffic. */
export interface CallingThread {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Traffic and usage of all threads. */
  readonly traffic: TrafficStore;
  /** Keys in the store; `undefined` without `config.kv`. */
  readonly keyring: Keyring | undefined;
  /** Approved tools of MCP servers. */
  readonly pins: PinBook;
  /** Set when workers carry the traffic. */
  readonly workers?: {
    readonly state: ControlState;
    readonly watches: { describe(): readonly WatcherState[] };
    /** Metrics of this thread. */
    readonly registry: MetricRegistry;
    readonly ended: EndedMetrics;
  };
}
