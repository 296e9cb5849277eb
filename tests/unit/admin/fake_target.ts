import { redactSettings } from "../../../src/api/redact_configuration.ts";
import type { Settings } from "../../../src/api/settings.ts";
import { schemasOf } from "../../../src/gateway/candidate.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { createLogger, type Log } from "../../../src/base/log.ts";
import {
  defaultLogFilter,
  formatLogFilter,
  parseLogFilter,
} from "../../../src/base/log_filter.ts";
import type { AdminTarget } from "../../../admin/target/target.ts";
import type {
  GatewayStatus,
  Readiness,
} from "../../../src/gateway/gateway_status.ts";
import type { TrafficQuery } from "../../../src/telemetry/traffic/traffic_report.ts";
import { TrafficStore } from "../../../src/telemetry/traffic/traffic_store.ts";
import { MemoryUsageBook } from "../../../src/telemetry/traffic/usage_table.ts";
import { startAdminServer } from "../../../admin/admin_server.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { FakeClock } from "../../harness/fake_clock.ts";

const epoch = { now: () => 0 };

/** A fake gateway for the admin server. */
export class FakeTarget implements AdminTarget {
  readonly settings: Settings;
  readonly shownSettings: unknown;
  readonly version = { version: "1.2.3" };
  configuration: GatewayStatus = {
    hash: "abc",
    appliedAt: "2026-01-01T00:00:00.000Z",
    lastRejected: undefined,
  };
  ready: Readiness = "ready";
  shutdowns = 0;
  /** Set to make the data plane fail. */
  failure: Error | undefined;
  #filter: string;

  constructor(settings: Readonly<Record<string, unknown>> = {}) {
    const text = JSON.stringify({ config: {} });
    const { settings: defaults } = loadConfig(
      [{ name: "test", text }],
      {},
      schemasOf(),
    );
    this.settings = { ...defaults, ...settings };
    this.shownSettings = redactSettings(this.settings);
    this.#filter = this.settings.logging.level;
  }

  readonly policyState = { keySets: [], providerMetadata: [], budgets: [] };

  readonly dataPlane = {
    describe: () =>
      this.failure === undefined
        ? Promise.resolve({
          binds: [],
          listeners: [{ key: "http" }],
          routes: [],
          backends: [],
          policies: [],
          ...this.policyState,
        })
        : Promise.reject(this.failure),
    describeState: () => Promise.resolve(this.policyState),
    refreshKeys: () => Promise.resolve(),
    collectMetrics: () => Promise.resolve("up 1\n"),
    readMetrics: () => Promise.resolve([]),
    apply: () => Promise.reject(new TypeError("not expected")),
    setEndpoints: () => Promise.resolve(),
    usage: () => Promise.resolve([]),
    resetLimits: () => Promise.resolve(0),
    addresses: () => Promise.resolve([]),
    setLogLevel: () => Promise.resolve(),
    traceNext: () => Promise.reject(new TypeError("not expected")),
    traffic: (query: TrafficQuery) =>
      Promise.resolve(
        new TrafficStore(epoch, new MemoryUsageBook(epoch)).report(query),
      ),
    requests: () =>
      Promise.resolve({ takenAt: 0, requests: [], successes: 0, sampled: 0 }),
    request: () => Promise.resolve(undefined),
    tasks: () =>
      Promise.resolve({
        takenAt: "2026-01-01T00:00:00.000Z",
        connections: 0,
        requests: 0,
        omitted: 0,
        listeners: [],
        upstreams: [],
        lookups: [],
        cooldowns: [],
        keySets: [],
        providerMetadata: [],
        leases: [],
        watchers: [],
      }),
    stores: () => Promise.resolve([]),
    failure: () => Promise.resolve(undefined),
    startCpuProfiles: () => Promise.resolve(),
    stopCpuProfiles: () => Promise.resolve([]),
    startAllocationProfiles: () => Promise.resolve(),
    heapProfiles: () => Promise.resolve([]),
    heaps: () => Promise.resolve([]),
    stuckWorkers: () => [],
    leave: () => Promise.resolve(),
    drain: () => Promise.resolve({ drained: 0, cut: 0 }),
  };

  systemMemory() {
    return { smaps: null, cgroup: null };
  }

  stores() {
    return [];
  }

  status(): GatewayStatus {
    return this.configuration;
  }

  logFilter(): string {
    return this.#filter;
  }

  setLogFilter(filter: string): Promise<void> {
    this.#filter = formatLogFilter(parseLogFilter(filter));
    return Promise.resolve();
  }

  readonly rejections: string[] = [];

  countRejection(reason: string): void {
    this.rejections.push(reason);
  }

  shutdown(): void {
    this.shutdowns++;
  }

  sourceProblem(): string | undefined {
    return undefined;
  }

  readiness(): Readiness {
    return this.ready;
  }
}

/** Creates a log and returns its lines. */
export function createTestLog(): {
  readonly log: Log;
  readonly lines: readonly string[];
} {
  const lines: string[] = [];
  const logger = createLogger({
    write: (line) => lines.push(line),
    clock: new FakeClock(),
    format: "text",
    filter: defaultLogFilter,
  });
  return { log: logger.module("admin"), lines };
}

/** Starts an admin server for a fake gateway. */
export async function startTestAdmin(
  settings: Readonly<Record<string, unknown>>,
) {
  const { log, lines } = createTestLog();
  const target = new FakeTarget(settings);
  const options = { target, log, clock: systemClock };
  const { addresses, close } = await startAdminServer(options);
  return { target, lines, addresses, [Symbol.asyncDispose]: close };
}
