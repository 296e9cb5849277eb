import { redactSettings } from "../../../src/api/redact_configuration.ts";
import type { Settings } from "../../../src/api/settings.ts";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { createLogger, type Log } from "../../../src/base/log/log.ts";
import {
  defaultLogFilter,
  formatLogFilter,
  parseLogFilter,
} from "../../../src/base/log/log_filter.ts";
import type { AdminTarget } from "../../../admin/target/target.ts";
import type {
  GatewayStatus,
  Readiness,
} from "../../../src/gateway/gateway_status.ts";
import { startAdminServer } from "../../../admin/admin_server.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { emptyDescription } from "../../../src/compile/describe/describe.ts";
import { FakeDataPlane } from "../../harness/gateway/fake_data_plane.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";

const emptyState = { keySets: [], providerMetadata: [], budgets: [] };

/** A fake gateway for the admin server. */
export class FakeTarget implements AdminTarget {
  readonly settings: Settings;
  readonly shownSettings: unknown;
  readonly version = { version: "1.2.3" };
  configuration: GatewayStatus = {
    startedAt: "2025-12-31T23:59:00.000Z",
    hash: "abc",
    appliedAt: "2026-01-01T00:00:00.000Z",
    routes: 1,
    lastRejected: undefined,
  };
  ready: Readiness = "ready";
  shutdowns = 0;
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

  readonly dataPlane = new FakeDataPlane({
    describe: {
      ...emptyDescription,
      listeners: JSON.parse('[{ "key": "http" }]'),
      ...emptyState,
    },
    describeState: emptyState,
    addresses: [],
    readMetrics: [],
    collectMetrics: [{
      name: "up",
      type: "gauge",
      help: "Always 1",
      merge: "max",
      samples: [["up", 1]],
    }],
  });

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

  problem(): string | undefined {
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
