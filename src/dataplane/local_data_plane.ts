import type { ServiceSlices } from "../api/resources/cluster_kinds.ts";
import type { ResourceSet } from "../api/resources/resource_set.ts";
import { EgressPolicy } from "../base/wire/egress_policy.ts";
import { BodyMemory, createBodyMemory } from "../http/body_memory.ts";
import { createEvenSequence } from "../proxy/balancing/even_sequence.ts";
import { describeError } from "../base/errors.ts";
import { readFileTextSync } from "../base/regular_file.ts";
import type { CountedOutputs } from "../llm/batch/counted_outputs.ts";
import type { StoredResponses } from "../llm/responses/stored_responses.ts";
import { PriceBook } from "../llm/cost/price_book.ts";
import { type Compiled, compileInSlices } from "../compile/compile.ts";
import { Compilations } from "../compile/compilations.ts";
import { compileServiceSlices } from "../compile/backends/service_backends.ts";
import type { PolicyRegistry } from "../policy/contract/policy_registry.ts";
import { PortError } from "../proxy/ports/open_port.ts";
import { UnsettledCounts } from "../proxy/metering/meter/unsettled_counts.ts";
import { Cooldowns } from "../proxy/failover/cooldowns.ts";
import { McpEndpoints, randomSecret } from "../proxy/mcp/mcp_endpoints.ts";
import type { WorkerRelay } from "../proxy/mcp/worker_relay.ts";
import { trustedProxies } from "../proxy/request/forwarding_headers.ts";
import { Upstreams } from "../proxy/upstreams.ts";
import type { WebUiHandler } from "../proxy/balancing/web_ui_upstream.ts";
import { SnapshotStore } from "../snapshot/snapshot.ts";
import { addKeyringMetrics } from "../telemetry/metrics/keyring_metrics.ts";
import { addStateMetrics } from "../telemetry/metrics/state_metrics.ts";
import {
  type TrafficNews,
  TrafficRecorder,
} from "../telemetry/traffic/traffic_recorder.ts";
import { TrafficStore } from "../telemetry/traffic/traffic_store.ts";
import type { TraceTurns } from "../telemetry/trace/trace_watchers.ts";
import { describeCertificates } from "./telemetry/describe_certificates.ts";
import type { Keyring } from "./keyring/keyring.ts";
import {
  createCountedOutputs,
  createKeyring,
  createPinBook,
  createStoredResponses,
  createUsageBook,
} from "./state/stores/kv_stores.ts";
import { Debugging } from "./calls/debugging.ts";
import {
  type CallArguments,
  type CallName,
  callOf,
  type CallPart,
  type CallResult,
} from "./calls/calls.ts";
import type { TraceAnswer, TraceQuery } from "./calls/debugging.ts";
import type { ThreadProfiles } from "./calls/thread_profiles.ts";
import type { TrafficThread } from "./calls/traffic_thread.ts";
import { createListeners, type RequestPathOptions } from "./request_path.ts";
import type { DataPlane } from "./data_plane.ts";
import type { ApplyResult, DrainResult, OpenFailure } from "./apply_result.ts";
import type { PinBook } from "./state/stores/pin_book.ts";
import { PolicyState, type SharedPolicyState } from "./state/policy_state.ts";
import { TokenState } from "./state/token_state.ts";
import { StagedConfiguration } from "./staged_configuration.ts";
import { bodyMemoryBytes } from "./granted_resources.ts";

/** Dependencies of the data plane. */
export interface LocalDataPlaneOptions extends
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
  /** Default true; see `StagedConfiguration`. */
  readonly opensPorts?: boolean | undefined;
  /** Number of data planes that share the limits of a backend; default 1. */
  readonly workers?: number;
  /** See `RequestMemoryOptions`. */
  readonly nextRefusal?: () => number;
  /** See `RequestMemoryOptions`. */
  readonly thread?: number;
  /** Receives what a data plane of several has counted; by default, this one remembers it. */
  readonly onTraffic?: (news: TrafficNews) => void;
  /** Memory for bodies of several data planes; by default, this one has its own. */
  readonly bodyMemory?: BodyMemory;
  /** Profiles of this thread, if it is a worker. */
  readonly profiles?: ThreadProfiles;
  /** Of several data planes, for sessions of MCP clients; by default, this one has its own. */
  readonly sessionSecret?: string;
  /** Set where several data planes serve MCP endpoints. */
  readonly mcpRelay?: WorkerRelay;
  /** Shared by several data planes; by default, this one has its own. */
  readonly counted?: CountedOutputs;
}

/** Time for the last export when requests have used up the time to drain. */
const MIN_EXPORT_MS = 1000;

/** The data plane in this thread. */
export class LocalDataPlane implements DataPlane {
  readonly #options: LocalDataPlaneOptions;
  readonly #snapshots = new SnapshotStore({
    ports: [],
    backends: new Map(),
    credentials: { headers: new Set(), parameters: new Set() },
    identities: [],
  });
  readonly #recorder: TrafficRecorder;
  readonly #traffic: TrafficStore;
  readonly #unsettled: UnsettledCounts;
  readonly #counted: CountedOutputs;
  readonly #responses: StoredResponses;
  readonly #keyring: Keyring | undefined;
  readonly #pins: PinBook;
  readonly #egress: EgressPolicy;
  readonly #tokens: TokenState;
  readonly #thread: TrafficThread;
  readonly stuckWorkers = [];
  readonly #compilations = new Compilations(() => this.#thread.state.lease());
  #compiled: Compiled | undefined;
  /** Serializes changes. */
  #applying: Promise<unknown> = Promise.resolve();

  constructor(options: LocalDataPlaneOptions) {
    const { clock, onTraffic } = options;
    this.#options = options;
    this.#traffic = new TrafficStore(
      clock,
      onTraffic === undefined ? createUsageBook(options) : undefined,
    );
    this.#recorder = new TrafficRecorder(
      clock,
      onTraffic ?? ((news) => this.#traffic.add(news)),
    );
    this.#unsettled = new UnsettledCounts(clock);
    this.#counted = options.counted ?? createCountedOutputs(options);
    this.#responses = options.shared?.responses ??
      createStoredResponses(options);
    this.#keyring = options.shared === undefined
      ? createKeyring(options)
      : undefined;
    this.#pins = createPinBook(
      options,
      () => this.#thread.mcp.forgetApprovals(),
    );
    this.#egress = new EgressPolicy({
      settings: options.settings.egress,
      log: options.logger.module("proxy"),
      clock,
    });
    this.#tokens = new TokenState({
      ...options,
      egress: this.#egress,
      snapshot: () => this.#snapshots.current,
    });
    this.#thread = this.#createThread(options);
    this.#addMetrics(this.#thread);
  }

  #createThread(options: LocalDataPlaneOptions): TrafficThread {
    const { clock, logger, metrics, profiles, random, settings } = options;
    const egress = this.#egress;
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
    const { tokens } = this.#tokens;
    const parts = {
      tokens,
      mcp: this.#createMcpEndpoints(options, upstreams),
      cooldowns: new Cooldowns(clock),
      debugging: new Debugging({ ...options, snapshots: this.#snapshots }),
      upstreams,
      bodyMemory: options.bodyMemory ??
        new BodyMemory(createBodyMemory(1, bodyMemoryBytes(settings.limits))),
    };
    const listeners = createListeners({
      ...options,
      ...parts,
      egress,
      counted: this.#counted,
      responses: this.#responses,
      random: createEvenSequence(random),
      snapshots: this.#snapshots,
      prices,
      traffic: this.#recorder,
      unsettled: this.#unsettled,
      connections: this.#tokens.connections?.site,
    });
    return {
      ...options,
      ...parts,
      listeners,
      state: new PolicyState({
        ...options,
        prices,
        egress,
        keyring: this.#keyring,
      }),
      registry: metrics.registry,
      profiles,
      accounts: this.#tokens.connections?.admin,
      compiled: () => this.#compiled,
    };
  }

  #createMcpEndpoints(
    options: LocalDataPlaneOptions,
    upstreams: Upstreams,
  ): McpEndpoints {
    const { clock, logger, metrics, settings } = options;
    return new McpEndpoints({
      tokens: this.#tokens.tokens,
      destinationOf: (backend) => upstreams.get(backend),
      findBackend: (key) => this.#snapshots.current.backends.get(key),
      clock,
      log: logger.module("mcp"),
      secret: settings.sessionSecret ?? options.sessionSecret ?? randomSecret(),
      pins: options.shared?.pins ?? this.#pins,
      recordCall: metrics.recordToolCall,
      trustsPeer: trustedProxies(settings.trustedProxies),
      relay: options.mcpRelay,
      maxBufferBytes: settings.limits.maxBufferBytes,
    });
  }

  #addMetrics(
    { cooldowns, listeners, mcp, registry, state, upstreams }: TrafficThread,
  ): void {
    addStateMetrics(registry, {
      requestsUnderWay: () => listeners.requestsUnderWay,
      certificates: () => describeCertificates(this.#snapshots.current),
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
    if (this.#keyring !== undefined) addKeyringMetrics(registry, this.#keyring);
  }

  get keyringProblem(): string | undefined {
    return this.#keyring?.read()?.problem;
  }

  apply(resources: ResourceSet): Promise<ApplyResult> {
    const result = this.#applying.then(() => this.#apply(resources));
    this.#applying = result.catch(() => {});
    return result;
  }

  setEndpoints(changed: ServiceSlices): Promise<void> {
    this.#thread.upstreams.updateEndpoints(compileServiceSlices(changed));
    return Promise.resolve();
  }

  async call<Name extends CallName>(
    name: Name,
    ...args: CallArguments[Name]
  ): Promise<CallResult[Name]> {
    const { settles, before, threads, merge } = callOf(name);
    if (settles === true) await this.settle();
    const { clock, logger } = this.#options;
    const caller = {
      clock,
      logger,
      traffic: this.#traffic,
      keyring: this.#keyring,
      pins: this.#pins,
    };
    await before?.(caller, ...args);
    const results = threads === "none"
      ? []
      : [{ worker: undefined, part: await this.run(name, args) }];
    return await merge(results, caller, ...args);
  }

  /** Runs the part of a call that is for this thread. */
  async run<Name extends CallName>(
    name: Name,
    args: CallArguments[Name],
  ): Promise<CallPart[Name]> {
    return await callOf(name).run(this.#thread, ...args);
  }

  /** Resolves when the responses that clients have received are counted, and passed to the thread that remembers the traffic. */
  async settle(): Promise<void> {
    await this.#unsettled.settled();
    this.#recorder.send();
  }

  /** @param turns Coordinates this data plane with others that trace the same. */
  traceNext(query: TraceQuery, turns?: TraceTurns): Promise<TraceAnswer> {
    return this.#thread.debugging.traceNext(query, turns);
  }

  async drain(timeoutMs: number): Promise<DrainResult> {
    this.#thread.debugging.tracing.stopAccepting();
    const { clock, telemetry } = this.#options;
    const startedAt = clock.monotonic();
    const result = await this.#thread.listeners.drain(timeoutMs);
    const leftMs = timeoutMs - (clock.monotonic() - startedAt);
    await telemetry.close(Math.max(leftMs, MIN_EXPORT_MS));
    this.#thread.debugging.tracing.close();
    await this.#thread.mcp.close();
    this.#thread.upstreams.close();
    await this.#tokens.close();
    this.#compilations.release();
    this.#recorder.send();
    await this.#thread.state.close();
    await this.#traffic.close();
    await this.#counted.close();
    await this.#responses.close();
    await this.#keyring?.close();
    await this.#pins.close();
    return result;
  }

  /** Compiles a configuration. Stage one at a time. */
  async stage(resources: ResourceSet): Promise<StagedConfiguration> {
    const { clock, policies, settings } = this.#options;
    const compilations = this.#compilations;
    this.#egress.reserve(resources.reserved);
    const compiled = await compileInSlices(resources, {
      policies,
      readFile: readFileTextSync,
      compilations,
      kv: settings.kv,
      loopbackPorts: settings.loopbackPorts,
      clusterStdio: settings.clusterStdio,
      clusterCloudIdentity: settings.clusterCloudIdentity,
      lacksPrograms:
        Deno.permissions.querySync({ name: "run" }).state !== "granted",
      egress: this.#egress,
      sessionSecret: settings.sessionSecret,
      connectsUsers: settings.connections !== undefined,
      now: clock.now(),
      clock,
    }).then(async (compiled) => {
      await compilations.ready();
      return compiled;
    }).catch((error) => {
      compilations.abandon();
      throw error;
    });
    return new StagedConfiguration({
      compiled,
      isolatesErrors: resources.isolatesErrors === true,
      listeners: this.#thread.listeners,
      opensPorts: this.#options.opensPorts ?? true,
      swap: () => this.#swap(compiled),
      abandon: () => compilations.abandon(),
    });
  }

  async #apply(resources: ResourceSet): Promise<ApplyResult> {
    const staged = await this.stage(resources);
    const { diagnostics } = staged;
    if (!staged.isValid) {
      await staged.abandon();
      return { applied: false, diagnostics };
    }
    try {
      await staged.open();
    } catch (error) {
      await staged.abandon();
      return { applied: false, diagnostics, ...describeOpenError(error) };
    }
    staged.commit();
    return { applied: true, diagnostics, outcomes: staged.outcomes };
  }

  #swap(compiled: Compiled): void {
    this.#snapshots.swap(compiled.snapshot);
    this.#compiled = compiled;
    this.#thread.upstreams.replaceEndpoints(compiled.endpoints);
    this.#thread.upstreams.retainOnly(compiled.snapshot);
    this.#thread.mcp.retainOnly(compiled.snapshot);
    this.#thread.cooldowns.retainOnly(compiled.snapshot.backends);
    this.#options.metrics.compiledRoutes.inc(this.#compilations.compiledRoutes);
    this.#compilations.commit();
    this.#thread.state.warmUp();
  }
}

/** Describes why ports could not be opened. */
export function describeOpenError(
  error: unknown,
): OpenFailure {
  const reason = describeError(error);
  if (!(error instanceof PortError)) return { reason };
  const { port, address } = error.place;
  return { reason, port, ...(address !== undefined && { address }) };
}
