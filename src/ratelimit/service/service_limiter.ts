import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type {
  DescriptorUse,
  GlobalLimiter,
  LimiterDecision,
} from "../global_limiter.ts";
import { formatAddress, type ServiceAddress } from "./service_address.ts";
import { serviceUnitOf } from "./service_budgets.ts";
import type {
  ConnectionState,
  ServiceConnection,
} from "./service_connection.ts";
import { decideBy } from "./service_decision.ts";
import type { ServiceDescriptor } from "./service_messages.ts";
import { type UsageReportCounters, UsageReports } from "./service_reports.ts";

/** Which service decides, and over what. */
export interface ServiceLimiterOptions {
  readonly address: ServiceAddress;
  readonly domain: string;
  readonly clock: Clock;
  readonly log: Log;
  /** For the answer to a request. Default 100. */
  readonly deadlineMs?: number;
}

/** A limiter as `/config_dump` and metrics show it; counts since it was made. */
export interface ServiceLimiterState extends UsageReportCounters {
  /** Such as `ratelimit:8081`. */
  readonly address: string;
  readonly domain: string;
  readonly connection: ConnectionState;
  /** Requests that were asked about. */
  readonly calls: number;
  /** Calls without a usable answer. */
  readonly failures: number;
}

const DEFAULT_DEADLINE_MS = 100;
/** Nobody waits for a report, and one that was counted but answered late is counted twice. */
const REPORT_DEADLINE_MS = 1000;
const REPORT_LIFETIME_MS = 3_600_000;
const CLOSE_GRACE_MS = 1000;
/** The proto allows no more for one descriptor. */
const MAX_HITS = 1_000_000_000;

const nothingAsked: LimiterDecision = { verdict: "admitted", readings: [] };

/**
 * Budgets that an external service keeps which speaks Envoy's rate limit protocol, version 3.
 *
 * All budgets of a request are asked about in one call: those of requests with `hits_addend` 1, those of tokens with 0. The
 * tokens are reported after the response. `base` and unit go along as `limit`, so the configuration of the gateway holds, not
 * the service's; `describeServiceProblems` names what cannot be said. The service's answer is final, so three things differ
 * from other limiters: most services charge requests although another budget refused, a token budget that is used up to the
 * last token admits one more request, and nothing is refunded.
 */
export class ServiceLimiter implements GlobalLimiter {
  readonly #options: ServiceLimiterOptions;
  readonly #reports: UsageReports;
  #connecting: Promise<ServiceConnection> | undefined;
  #connection: ServiceConnection | undefined;
  #isClosed = false;
  #calls = 0;
  #failures = 0;

  /** Does not connect yet. */
  constructor(options: ServiceLimiterOptions) {
    this.#options = options;
    this.#reports = new UsageReports({
      clock: options.clock,
      log: options.log,
      send: (descriptor) => this.#report(descriptor),
    });
  }

  /** Connects ahead of the first request, which then need not wait for it. Rejects when the service cannot be reached now. */
  async open(): Promise<void> {
    await (await this.#connect()).open();
  }

  admit(
    uses: readonly DescriptorUse[],
  ): LimiterDecision | Promise<LimiterDecision> {
    return uses.length === 0 ? nothingAsked : this.#ask(uses);
  }

  debit(uses: readonly DescriptorUse[], tokens: number): void {
    const { clock } = this.#options;
    const hitsAddend = clampHits(tokens);
    if (hitsAddend === 0) return;
    for (const use of uses) {
      const { unit, windowMs } = use.budget;
      if (unit !== "tokens") continue;
      this.#reports.add({
        descriptor: toDescriptor(use, hitsAddend),
        expiresAt: clock.monotonic() + Math.min(windowMs, REPORT_LIFETIME_MS),
      });
    }
  }

  /** Nothing: the protocol has no way to give back. */
  refund(_uses: readonly DescriptorUse[]): void {}

  describe(): ServiceLimiterState {
    const { address, domain } = this.#options;
    return {
      address: formatAddress(address),
      domain,
      connection: this.#isClosed ? "closed" : this.#connection?.state ?? "idle",
      calls: this.#calls,
      failures: this.#failures,
      ...this.#reports.counters,
    };
  }

  /** Gives waiting reports a second to arrive, then ends the connection; `admit` fails from now on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reports.close(CLOSE_GRACE_MS);
    // Whoever wanted the connection was told why it could not be had.
    await this.#connecting?.catch(() => undefined);
    this.#connection?.close();
  }

  async #ask(uses: readonly DescriptorUse[]): Promise<LimiterDecision> {
    const { address, domain, deadlineMs = DEFAULT_DEADLINE_MS } = this.#options;
    this.#calls++;
    try {
      if (this.#isClosed) throw new Error("the limiter is closed");
      const connection = this.#connection ?? await this.#connect();
      const descriptors = uses.map((use) =>
        toDescriptor(use, use.budget.unit === "requests" ? 1 : 0)
      );
      const request = { domain, hitsAddend: 0, descriptors };
      return decideBy(await connection.ask(request, deadlineMs), uses);
    } catch (cause) {
      this.#failures++;
      const error = new Error(
        `Cannot ask the rate limit service "${formatAddress(address)}"`,
        { cause },
      );
      return { verdict: "failed", error };
    }
  }

  async #report(descriptor: ServiceDescriptor): Promise<void> {
    const { domain } = this.#options;
    const connection = await this.#connect();
    const { hitsAddend } = descriptor;
    const request = { domain, hitsAddend, descriptors: [descriptor] };
    await connection.ask(request, REPORT_DEADLINE_MS);
  }

  #connect(): Promise<ServiceConnection> {
    this.#connecting ??= this.#load();
    return this.#connecting;
  }

  async #load(): Promise<ServiceConnection> {
    const { ServiceConnection } = await import("./service_connection.ts");
    const { address, clock } = this.#options;
    this.#connection = new ServiceConnection(address, clock);
    return this.#connection;
  }
}

function toDescriptor(
  { budget, entries }: DescriptorUse,
  hitsAddend: number,
): ServiceDescriptor {
  const limit = { perUnit: budget.base, unit: serviceUnitOf(budget.windowMs) };
  return { entries, limit, hitsAddend };
}

/** A whole number of tokens that the protocol allows. */
function clampHits(tokens: number): number {
  return tokens > 0 ? Math.min(Math.ceil(tokens), MAX_HITS) : 0;
}
