import {
  serviceOf,
  type ServiceSlices,
} from "../api/resources/cluster_kinds.ts";
import type { ResourceSet } from "../api/resources/resource_set.ts";
import { EgressPolicy } from "../base/wire/egress_policy.ts";
import { describeError } from "../base/errors.ts";
import { readFileTextSync } from "../base/regular_file.ts";
import { type Compiled, compileInSlices } from "../compile/compile.ts";
import { Compilations } from "../compile/compilations.ts";
import { PortError } from "../proxy/ports/open_port.ts";
import { type ServiceEndpoints, SnapshotStore } from "../snapshot/snapshot.ts";
import type { TraceTurns } from "../telemetry/trace/trace_watchers.ts";
import {
  type CallArguments,
  type CallName,
  callOf,
  type CallPart,
  type CallResult,
} from "./calls/calls.ts";
import type { TraceAnswer, TraceQuery } from "./calls/debugging.ts";
import type { TrafficThread } from "./calls/traffic_thread.ts";
import type { DataPlane } from "./data_plane.ts";
import type { ApplyResult, DrainResult, OpenFailure } from "./apply_result.ts";
import { TokenState } from "./state/token_state.ts";
import { readEndpoints } from "./service_endpoints.ts";
import { StagedConfiguration } from "./staged_configuration.ts";
import { createThread, type TrafficThreadOptions } from "./create_thread.ts";
import {
  DataPlaneStores,
  type DataPlaneStoresOptions,
} from "./data_plane_stores.ts";

/** Dependencies of the data plane. */
export interface LocalDataPlaneOptions
  extends
    TrafficThreadOptions,
    Pick<DataPlaneStoresOptions, "counted" | "onTraffic"> {
  /** Default true; see `StagedConfiguration`. */
  readonly opensPorts?: boolean | undefined;
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
  readonly #stores: DataPlaneStores;
  readonly #egress: EgressPolicy;
  readonly #tokens: TokenState;
  readonly #thread: TrafficThread;
  readonly stuckWorkers = [];
  readonly #compilations = new Compilations(() => this.#thread.state.lease());
  #compiled: Compiled | undefined;
  /** Serializes changes. */
  #applying: Promise<unknown> = Promise.resolve();

  constructor(options: LocalDataPlaneOptions) {
    const { clock } = options;
    this.#options = options;
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
    // Nobody would close the stores if something threw after this.
    this.#stores = new DataPlaneStores(
      options,
      () => this.#thread.mcp.forgetApprovals(),
    );
    this.#thread = createThread(options, {
      egress: this.#egress,
      snapshots: this.#snapshots,
      stores: this.#stores,
      tokens: this.#tokens,
      compiled: () => this.#compiled,
    });
  }

  get keyringProblem(): string | undefined {
    return this.#stores.keyring?.read()?.problem;
  }

  apply(resources: ResourceSet): Promise<ApplyResult> {
    const result = this.#applying.then(() => this.#apply(resources));
    this.#applying = result.catch(() => {});
    return result;
  }

  setEndpoints(changed: ServiceSlices): Promise<void> {
    this.#thread.upstreams.updateEndpoints(readEndpoints(changed));
    return Promise.resolve();
  }

  async call<Name extends CallName>(
    name: Name,
    ...args: CallArguments[Name]
  ): Promise<CallResult[Name]> {
    const { settles, before, threads, merge } = callOf(name);
    if (settles === true) await this.settle();
    const { clock, logger } = this.#options;
    const { traffic, keyring, pins } = this.#stores;
    const caller = { clock, logger, traffic, keyring, pins };
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

  /** See `DataPlaneStores`. */
  settle(): Promise<void> {
    return this.#stores.settle();
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
    this.#stores.recorder.send();
    await this.#thread.state.close();
    await this.#stores.close();
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
      hasStore: settings.kv !== undefined,
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
    const endpoints = readEndpoints(
      Map.groupBy(resources.endpointSlices, serviceOf),
    );
    return new StagedConfiguration({
      compiled,
      isolatesErrors: resources.isolatesErrors === true,
      listeners: this.#thread.listeners,
      opensPorts: this.#options.opensPorts ?? true,
      swap: () => this.#swap(compiled, endpoints),
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

  #swap(compiled: Compiled, endpoints: ServiceEndpoints): void {
    this.#snapshots.swap(compiled.snapshot);
    this.#compiled = compiled;
    this.#thread.upstreams.replaceEndpoints(endpoints);
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
