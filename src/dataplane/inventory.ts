import type { Clock } from "../base/clock.ts";
import type { BodyMemory } from "../http/body_memory.ts";
import type { Listeners } from "../proxy/ports/listeners.ts";
import type { Cooldowns } from "../proxy/failover/cooldowns.ts";
import type {
  BackendLookup,
  EndpointReading,
  Upstreams,
} from "../proxy/upstreams.ts";
import { describeStores } from "./bounded_stores.ts";
import type { LookupTask, UpstreamTask } from "./backend_tasks.ts";
import type { BoundedStore, TaskTree } from "./data_plane.ts";
import type { Debugging } from "./debugging.ts";
import { describeGlobalBudget, type PolicyState } from "./policy_state.ts";
import { describeClients } from "./task_tree.ts";

/** Parts of a data plane that the inventory describes. */
export interface InventoryOptions {
  readonly clock: Clock;
  readonly listeners: Listeners;
  readonly upstreams: Upstreams;
  readonly cooldowns: Cooldowns;
  readonly state: PolicyState;
  readonly debugging: Debugging;
  readonly bodyMemory: BodyMemory;
}

/** Describes what is under way and what is kept, without state of its own. */
export class Inventory {
  readonly #parts: InventoryOptions;

  constructor(parts: InventoryOptions) {
    this.#parts = parts;
  }

  tasks(limit: number): TaskTree {
    const { clock, listeners, upstreams, state, debugging } = this.#parts;
    const now = clock.now();
    return {
      takenAt: new Date(now).toISOString(),
      ...describeClients(listeners.connections(), limit, clock.monotonic()),
      upstreams: [...upstreams.describe()].map(describeUpstream),
      lookups: [...upstreams.describeLookups()].map((each) =>
        describeLookup(each, now)
      ),
      cooldowns: this.#parts.cooldowns.describe().map((
        { name: _name, remainingMs, ...more },
      ) => ({ ...more, until: new Date(now + remainingMs).toISOString() })),
      keySets: state.keySets(),
      providerMetadata: state.providerMetadata(),
      leases: state.globalLimits().map(describeGlobalBudget),
      watchers: debugging.tracing.watchers(),
    };
  }

  stores(): readonly BoundedStore[] {
    const { listeners, upstreams, state, debugging, bodyMemory } = this.#parts;
    return describeStores({
      bodies: bodyMemory.fill,
      ports: listeners.stats(),
      upstreams: upstreams.describe(),
      limits: state.limits(),
      requests: debugging.memory.fills,
      verifiers: state.cachedTokens(),
      watchers: debugging.tracing.watchers(),
    });
  }
}

function describeUpstream(
  { endpoint, backends, health, requests, stats, check }: EndpointReading,
): UpstreamTask {
  const { latencyMs } = health;
  return {
    endpoint,
    backends,
    health: health.state,
    check: check?.verdict ?? null,
    requests,
    ejections: Object.values(health.ejections).reduce((a, b) => a + b, 0),
    latencyMs: latencyMs === undefined ? null : Math.round(latencyMs),
    active: stats.active,
    idle: stats.idle,
    waiting: stats.pending,
  };
}

function describeLookup(
  { host, backends, addresses, ignored, ageMs, error }: BackendLookup,
  now: number,
): LookupTask {
  const lookedUpAt = ageMs === null
    ? null
    : new Date(now - ageMs).toISOString();
  return { host, backends, addresses, ignored, lookedUpAt, error };
}
