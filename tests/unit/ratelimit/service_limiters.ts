import { createLogger } from "../../../src/base/log/log.ts";
import { parseLogFilter } from "../../../src/base/log/log_filter.ts";
import { openEgress } from "../../../src/base/wire/egress_policy.ts";
import type { BudgetDefinition } from "../../../src/ratelimit/budget/budget.ts";
import type { DescriptorUse } from "../../../src/ratelimit/limiter/global_limiter.ts";
import {
  ServiceLimiter,
  type ServiceLimiterOptions,
} from "../../../src/ratelimit/service/service_limiter.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";

/** A limiter of the domain `shop` with a fake clock; closed when disposed. */
export interface TestLimiter extends AsyncDisposable {
  readonly limiter: ServiceLimiter;
  readonly clock: FakeClock;
  readonly logLines: readonly string[];
}

/** Creates a limiter for the service at `port` of this machine. */
export function createTestLimiter(
  port: number,
  tls?: ServiceLimiterOptions["address"]["tls"],
): TestLimiter {
  const clock = new FakeClock();
  const logLines: string[] = [];
  const logger = createLogger({
    write: (line) => logLines.push(line),
    clock,
    format: "text",
    filter: parseLogFilter("warn"),
  });
  const limiter = new ServiceLimiter({
    address: { host: "127.0.0.1", port, tls },
    domain: "shop",
    egress: openEgress,
    clock,
    log: logger.module("ratelimit"),
  });
  return {
    limiter,
    clock,
    logLines,
    async [Symbol.asyncDispose]() {
      const closing = limiter.close();
      clock.advance(1000);
      await closing;
    },
  };
}

/** Returns a use of a budget of a hundred requests or tokens per minute for the user anna. */
export function useOf(
  unit: BudgetDefinition["unit"],
  changes: Partial<BudgetDefinition> = {},
): DescriptorUse {
  const budget = {
    base: 100,
    burst: 0,
    windowMs: 60_000,
    overshoot: "Forgive" as const,
    ...changes,
    unit,
  };
  return { index: 0, budget, entries: [["user", "anna"]] };
}
