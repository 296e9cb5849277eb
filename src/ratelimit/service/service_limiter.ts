import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import { amountOf, type Use } from "../budget/budget.ts";
import type {
  DescriptorUse,
  ExchangeCounts,
  GlobalLimit,
  LimiterDecision,
  LimitState,
  StoreLimiter,
} from "../limiter/global_limiter.ts";
import { formatAddress, type ServiceAddress } from "./service_address.ts";
import { serviceUnitOf } from "./service_budgets.ts";
import type {
  ConnectionState,
  ServiceConnection,
} from "./service_connection.ts";
import { decideBy, unknownDescriptors } from "./service_decision.ts";
import type { ServiceDescriptor } from "./service_messages.ts";
import { type UsageReportCounters, UsageReports } from "./service_reports.ts";

/** Options of a limiter that calls a rate limit service. */
export interface ServiceLimiterOptions {
  readonly address: ServiceAddress;
  readonly domain: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Decides whether the service may be connected to. */
  readonly egress: EgressPolicy;
  /** Deadline of a decision in milliseconds; 100 by default. */
  readonly deadlineMs?: number;
}

/** State of a limiter for `/config_dump` and metrics; counts since it was created. */
export interface ServiceLimiterState extends UsageReportCounters {
  /** Such as `ratelimit:8081`. */
  readonly address: string;
  readonly domain: string;
  readonly connection: ConnectionState;
  /** Requests for which the service was called. */
  readonly calls: number;
  /** Calls without a valid response, or with one that lacks a limit. */
  readonly failures: number;
  /** Calls with a response that lacks a limit: the service does not know the descriptor. */
  readonly unknown: number;
}

const DEFAULT_DEADLINE_MS = 100;
/** Longer than that of a decision: no request waits, and a report that is counted but confirmed late is counted twice. */
const REPORT_DEADLINE_MS = 1000;
const REPORT_LIFETIME_MS = 3_600_000;
const CLOSE_GRACE_MS = 1000;
/** Largest `hits_addend` of a descriptor. */
const MAX_HITS = 1_000_000_000;

const admittedWithoutCall: LimiterDecision = {
  verdict: "admitted",
  readings: [],
};

/**
 * Budgets kept by an external service that implements Envoy's rate limit protocol, version 3.
 *
 * One call checks all budgets of a request: request budgets with `hits_addend` 1, token budgets with 0. Tokens are reported after
 * the response. `base` and unit are sent as `limit`, so the gateway's configuration applies, not the service's;
 * `describeServiceProblems` reports what the protocol cannot express. The decision of the service is final, so three things differ
 * from other limiters: most services charge requests even if another budget is exhausted, a token budget that is used up to the
 * last token admits one more request, and nothing is refunded.
 */
export class ServiceLimiter implements StoreLimiter {
  readonly domain: string;
  /** Such as `ratelimit:8081`. */
  readonly storeName: string;
  readonly #options: ServiceLimiterOptions;
  readonly #reports: UsageReports;
  #connecting: Promise<ServiceConnection> | undefined;
  #connection: ServiceConnection | undefined;
  #isClosed = false;
  #calls = 0;
  #failures = 0;
  #unknown = 0;
  /** Keys of unknown descriptors in the log; as many as the configuration has. */
  readonly #reported = new Set<string>();

  /** Does not connect yet. */
  constructor(options: ServiceLimiterOptions) {
    this.domain = options.domain;
    this.storeName = formatAddress(options.address);
    this.#options = options;
    this.#reports = new UsageReports({
      clock: options.clock,
      log: options.log,
      send: (descriptor) => this.#report(descriptor),
    });
  }

  /** Connects before the first request. Rejects when the service cannot be reached now. */
  async open(): Promise<void> {
    await (await this.#connect()).open();
  }

  probe(): Promise<void> {
    return this.open();
  }

  admit(
    uses: readonly DescriptorUse[],
  ): LimiterDecision | Promise<LimiterDecision> {
    return uses.length === 0 ? admittedWithoutCall : this.#call(uses);
  }

  debit(uses: readonly DescriptorUse[], used: Use): void {
    const { clock } = this.#options;
    for (const use of uses) {
      const { unit, windowMs } = use.budget;
      const hitsAddend = clampHits(amountOf(unit, used));
      if (hitsAddend === 0) continue;
      this.#reports.add({
        descriptor: toDescriptor(use, hitsAddend),
        expiresAt: clock.monotonic() + Math.min(windowMs, REPORT_LIFETIME_MS),
      });
    }
  }

  /** Does nothing: the protocol has no refunds. */
  refund(_uses: readonly DescriptorUse[]): void {}

  get connection(): ConnectionState {
    return this.#isClosed ? "closed" : this.#connection?.state ?? "idle";
  }

  get exchanges(): ExchangeCounts {
    const failed = this.#failures - this.#unknown;
    const answered = this.#calls - this.#failures;
    return {
      waits: this.#calls,
      exchanges: { answered, failed, unknown: this.#unknown },
      lostTokens: this.#reports.counters.droppedTokens,
    };
  }

  /** Only the service knows what is left. */
  readLimits(limits: readonly GlobalLimit[]): readonly LimitState[] {
    return limits.map(({ name, definition: { unit, base, windowMs } }) => ({
      name,
      unit,
      limit: base,
      windowMs,
    }));
  }

  /** Services reset their budgets themselves. */
  reset(): Promise<number> {
    return Promise.resolve(0);
  }

  describe(): ServiceLimiterState {
    return {
      address: this.storeName,
      domain: this.domain,
      connection: this.connection,
      calls: this.#calls,
      failures: this.#failures,
      unknown: this.#unknown,
      ...this.#reports.counters,
    };
  }

  /** Gives waiting reports a second to be delivered, then closes the connection; `admit` fails from now on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reports.close(CLOSE_GRACE_MS);
    // Callers that waited for the connection got the error.
    await this.#connecting?.catch(() => undefined);
    this.#connection?.close();
  }

  async #call(uses: readonly DescriptorUse[]): Promise<LimiterDecision> {
    const { address, domain, deadlineMs = DEFAULT_DEADLINE_MS } = this.#options;
    this.#calls++;
    try {
      if (this.#isClosed) throw new Error("the limiter is closed");
      const connection = this.#connection ?? await this.#connect();
      const descriptors = uses.map((use) =>
        toDescriptor(use, use.budget.unit === "requests" ? 1 : 0)
      );
      const request = { domain, hitsAddend: 0, descriptors };
      const response = await connection.call(request, deadlineMs);
      const decision = decideBy(response, uses);
      const [unknown] = decision.verdict === "admitted"
        ? unknownDescriptors(response, uses)
        : [];
      return unknown === undefined ? decision : this.#reportUnknown(unknown);
    } catch (cause) {
      this.#failures++;
      const error = new Error(
        `Call to the rate limit service "${formatAddress(address)}" failed`,
        { cause },
      );
      return { verdict: "failed", error };
    }
  }

  /** A service that does not know a descriptor does not limit it. */
  #reportUnknown({ entries }: DescriptorUse): LimiterDecision {
    const { address, domain, log } = this.#options;
    this.#failures++;
    this.#unknown++;
    const keys = entries.map(([key]) => key).join(", ");
    if (!this.#reported.has(keys)) {
      this.#reported.add(keys);
      log.warn(
        "The rate limit service has no limit for a descriptor: add the domain and the keys to its configuration",
        { domain, keys, service: formatAddress(address) },
      );
    }
    const error = new Error(
      `The rate limit service "${
        formatAddress(address)
      }" has no limit for the keys "${keys}" of domain "${domain}"`,
    );
    return { verdict: "failed", error, isLasting: true };
  }

  async #report(descriptor: ServiceDescriptor): Promise<void> {
    const { domain } = this.#options;
    const connection = await this.#connect();
    const { hitsAddend } = descriptor;
    const request = { domain, hitsAddend, descriptors: [descriptor] };
    await connection.call(request, REPORT_DEADLINE_MS);
  }

  #connect(): Promise<ServiceConnection> {
    this.#connecting ??= this.#load();
    return this.#connecting;
  }

  async #load(): Promise<ServiceConnection> {
    const { ServiceConnection } = await import("./service_connection.ts");
    const { address } = this.#options;
    this.#connection = new ServiceConnection(address, this.#options);
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

/** Rounds up to a whole number of tokens that the protocol allows. */
function clampHits(tokens: number): number {
  return tokens > 0 ? Math.min(Math.ceil(tokens), MAX_HITS) : 0;
}
