import type { Clock } from "../../base/clock.ts";
import { createSensitiveHeaders } from "../../base/redaction.ts";
import type { PolicyServices } from "../../policy/contract/policy_services.ts";
import { noopServices } from "../../policy/noop_services.ts";
import type { GlobalLimiter } from "../../ratelimit/limiter/global_limiter.ts";
import { LocalCounterStore } from "../../ratelimit/local/local_counter_store.ts";

/** Enough for the bodies that stand for those of requests. */
export const MAX_BODY_BYTES = 1 << 16;

/** Services of policies in a replay: its time is that of the requests, and its limits are unused at first. */
export class ReplayServices {
  readonly clock: ReplayClock = new ReplayClock();
  readonly services: PolicyServices;

  /** @param sensitiveHeaders See `Settings`. */
  constructor(sensitiveHeaders: Iterable<string>) {
    this.services = {
      ...noopServices({
        counters: new LocalCounterStore(this.clock).lease(),
        globalLimiter: () => admitsAll,
      }),
      clock: this.clock,
      maxBufferBytes: MAX_BODY_BYTES,
      sensitiveHeaders: createSensitiveHeaders(sensitiveHeaders),
    };
  }
}

/** Limits that processes share are not tried: their budgets are elsewhere. */
const admitsAll: GlobalLimiter = {
  admit: () => ({ verdict: "admitted", readings: [] }),
  debit() {},
  refund() {},
};

class ReplayClock implements Clock {
  time = 0;
  now = () => this.time;
  monotonic = () => this.time;
  setTimer = () => () => {};
}
