import type { EgressPolicy } from "../base/wire/egress_policy.ts";
import { BodyMemory, createBodyMemory } from "../http/body_memory.ts";
import { createEvenSequence } from "../proxy/balancing/even_sequence.ts";
import { PriceBook } from "../llm/cost/price_book.ts";
import type { Compiled } from "../compile/compile.ts";
import { Cooldowns } from "../proxy/failover/cooldowns.ts";
import { McpEndpoints, randomSecret } from "../proxy/mcp/mcp_endpoints.ts";
import type { PolicyRegistry } from "../policy/contract/policy_registry.ts";
import type { WorkerRelay } from "../proxy/mcp/worker_relay.ts";
import { trustedProxies } from "../proxy/request/forwarding_headers.ts";
import { Upstreams } from "../proxy/upstreams.ts";
import type { WebUiHandler } from "../proxy/balancing/web_ui_upstream.ts";
import type { SnapshotStore } from "../snapshot/snapshot.ts";
import { addKeyringMetrics } from "../telemetry/metrics/keyring_metrics.ts";
import { addStateMetrics } from "../telemetry/metrics/state_metrics.ts";
import { describeCertificates } from "./telemetry/describe_certificates.ts";
import { Debugging } from "./calls/debugging.ts";
import type { ThreadProfiles } from "./calls/thread_profiles.ts";
import type { TrafficThread } from "./calls/traffic_thread.ts";
import { createListeners, type RequestPathOptions } from "./request_path.ts";
import { PolicyState, type SharedPolicyState } from "./state/policy_state.ts";
import type { TokenState } from "./state/token_state.ts";
import { bodyMemoryBytes } from "./granted_resources.ts";
import type { DataPlaneStores } from "./data_plane_stores.ts";

/** Dependencies of a thread with traffic. */
export interface TrafficThreadOptions extends
  Omit<
    RequestPathOptions,
    | "snapshots"
    | "upstreams"
    | "mcp"
    | "tokens"
    | "cooldowns"
    | "debugging"
    | "traffic"
    | "prices"
    | "bodyMemory"
    | "egress"
    | "counted"
    | "responses"
    | "unsettled"
    | "connections"
  > {
  /** The kinds of policies that resources can have. */
  readonly policies: PolicyRegistry;
  /** Handles requests to the web UI on gateways. */
  readonly webUi?: WebUiHandler | undefined;
  /** State of several data planes; by default, this one has its own. */
  readonly shared?: SharedPolicyState;
  /** Number of data planes that share the limits of a backend; default 1. */
  readonly workers?: number;
  /** See `RequestMemoryOptions`. */
  readonly nextRefusal?: () => number;
  /** See `RequestMemoryOptions`. */
  readonly thread?: number;
  /** Memory for bodies of several data planes; by default, this one has its own. */
  readonly bodyMemory?: BodyMemory;
  /** Profiles of this thread, if it is a worker. */
  readonly profiles?: ThreadProfiles;
  /** Of several data planes, for sessions of MCP clients; by default, this one has its own. */
  readonly sessionSecret?: string;
  /** Set where several data planes serve MCP endpoints. */
  readonly mcpRelay?: WorkerRelay;
}

/** Parts that a thread and the data plane that creates it both use. */
export interface ThreadContext {
  readonly egress: EgressPolicy;
  readonly snapshots: SnapshotStore;
  readonly stores: DataPlaneStores;
  readonly tokens: TokenState;
  /** Returns the configuration in force. */
  readonly compiled: () => Compiled | undefined;
}

/** Creates the thread, and the metrics of its state. */
export function createThread(
  options: TrafficThreadOptions,
  context: ThreadContext,
): TrafficThread {
  const { egress, snapshots, stores, tokens } = context;
  const { clock, logger, metrics, profiles, random, settings } = options;
  const prices = new PriceBook(settings.prices, {
    clock,
    log: logger.module("ratelimit"),
  });
  const upstreams = new Upstreams({
    ...options,
    egress,
    log: logger.module("proxy"),
    healthTurns: options.shared?.healthTurns,
  });
  const parts = {
    tokens: tokens.tokens,
    mcp: createMcpEndpoints(options, context, upstreams),
    cooldowns: new Cooldowns(clock),
    debugging: new Debugging({ ...options, snapshots }),
    upstreams,
    bodyMemory: options.bodyMemory ??
      new BodyMemory(createBodyMemory(1, bodyMemoryBytes(settings.limits))),
  };
  const listeners = createListeners({
    ...options,
    ...parts,
    egress,
    counted: stores.counted,
    responses: stores.responses,
    random: createEvenSequence(random),
    snapshots,
    prices,
    traffic: stores.recorder,
    unsettled: stores.unsettled,
    connections: tokens.connections?.site,
  });
  const thread = {
    ...options,
    ...parts,
    listeners,
    state: new PolicyState({
      ...options,
      prices,
      egress,
      keyring: stores.keyring,
    }),
    registry: metrics.registry,
    profiles,
    accounts: tokens.connections?.admin,
    compiled: context.compiled,
  };
  addMetrics(thread, context);
  return thread;
}

function createMcpEndpoints(
  options: TrafficThreadOptions,
  { snapshots, stores, tokens }: ThreadContext,
  upstreams: Upstreams,
): McpEndpoints {
  const { clock, logger, metrics, settings } = options;
  return new McpEndpoints({
    tokens: tokens.tokens,
    destinationOf: (backend) => upstreams.get(backend),
    findBackend: (key) => snapshots.current.backends.get(key),
    clock,
    log: logger.module("mcp"),
    secret: settings.sessionSecret ?? options.sessionSecret ?? randomSecret(),
    pins: options.shared?.pins ?? stores.pins,
    recordCall: metrics.recordToolCall,
    trustsPeer: trustedProxies(settings.trustedProxies),
    relay: options.mcpRelay,
    maxBufferBytes: settings.limits.maxBufferBytes,
  });
}

function addMetrics(
  { cooldowns, listeners, mcp, registry, state, upstreams }: TrafficThread,
  { snapshots, stores }: ThreadContext,
): void {
  addStateMetrics(registry, {
    requestsUnderWay: () => listeners.requestsUnderWay,
    certificates: () => describeCertificates(snapshots.current),
    downstream: () => listeners.stats(),
    upstream: () => upstreams.stats(),
    endpoints: () => upstreams.describe(),
    lookups: () => upstreams.describeLookups(),
    cooldowns: () => cooldowns.describe(),
    mcpEndpoints: () => mcp.describe(),
    keySets: () => state.fetchedKeySets(),
    localLimits: () => state.limits(),
    globalLimiters: () => state.globalLimiters(),
  });
  if (stores.keyring !== undefined) {
    addKeyringMetrics(registry, stores.keyring);
  }
}
