import { protectedHeaders } from "../../base/wire/protected_headers.ts";
import { longestWait } from "../budget/budget.ts";
import type {
  DescriptorReading,
  DescriptorUse,
  LimiterDecision,
} from "../limiter/global_limiter.ts";
import { windowOfUnit } from "./service_budgets.ts";
import type { DescriptorStatus, ServiceResponse } from "./service_messages.ts";

type Headers = readonly (readonly [string, string])[];

/** `RateLimitResponse.Code`. */
const serviceCodes = { ok: 1, overLimit: 2 } as const;

const fieldName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// deno-lint-ignore no-control-regex -- field values may hold anything but these
const controls = /[\0-\x08\x0a-\x1f\x7f]/;

/**
 * Converts a response of the service to a decision.
 *
 * @throws {RangeError} When its code is neither OK nor OVER_LIMIT.
 */
export function decideBy(
  response: ServiceResponse,
  uses: readonly DescriptorUse[],
): LimiterDecision {
  const readings = readBudgets(response.statuses, uses, () => true);
  const responseHeaders = allowedHeaders(response.responseHeaders);
  switch (response.overallCode) {
    case serviceCodes.ok: {
      const requestHeaders = allowedHeaders(response.requestHeaders);
      return { verdict: "admitted", readings, responseHeaders, requestHeaders };
    }
    case serviceCodes.overLimit: {
      const { body } = response;
      const refusedBy = findExhausted(response.statuses, uses);
      return { verdict: "refused", readings, responseHeaders, refusedBy, body };
    }
    default:
      throw new RangeError(
        `expected the code OK or OVER_LIMIT, got ${response.overallCode}`,
      );
  }
}

/** Returns the uses whose status has no `current_limit`: the service does not limit them. Some services send no statuses at all. */
export function unknownDescriptors(
  { statuses }: ServiceResponse,
  uses: readonly DescriptorUse[],
): readonly DescriptorUse[] {
  return uses.filter((_, place) =>
    place < statuses.length && statuses[place]?.limit === undefined
  );
}

function readBudgets(
  statuses: readonly DescriptorStatus[],
  uses: readonly DescriptorUse[],
  isWanted: (status: DescriptorStatus) => boolean,
): DescriptorReading[] {
  return uses.flatMap(({ budget, index }, place) => {
    const status = statuses[place];
    if (status?.limit === undefined || !isWanted(status)) return [];
    const windowMs = windowOfUnit(status.limit.unit) ?? budget.windowMs;
    return [{
      index,
      unit: budget.unit,
      limit: status.limit.perUnit,
      remaining: status.remaining,
      resetMs: status.resetMs ?? windowMs,
      windowMs,
    }];
  });
}

/** Returns the exhausted budget that resets last. */
function findExhausted(
  statuses: readonly DescriptorStatus[],
  uses: readonly DescriptorUse[],
): DescriptorReading | undefined {
  const rejecting = readBudgets(
    statuses,
    uses,
    ({ code }) => code === serviceCodes.overLimit,
  );
  return longestWait(rejecting);
}

function allowedHeaders(headers: Headers): Headers {
  return headers.filter(([name, value]) =>
    fieldName.test(name) && !controls.test(value) &&
    !protectedHeaders.has(name.toLowerCase())
  );
}
