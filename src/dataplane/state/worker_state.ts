import type { Settings } from "../../api/settings.ts";
import type { Clock } from "../../base/clock.ts";
import type { LoginState } from "../../identity/oauth/grants/login_state.ts";
import type { Use } from "../../ratelimit/budget/budget.ts";
import type {
  DescriptorUse,
  GlobalLimiter,
  HeldUse,
  LimiterDecision,
} from "../../ratelimit/limiter/global_limiter.ts";
import {
  limiterKey,
  type LimiterLease,
} from "../../ratelimit/global_limiters.ts";
import type { LimitRequest } from "../../ratelimit/shared/limit_registry.ts";
import { SharedCounterStore } from "../../ratelimit/shared/shared_counter_store.ts";
import { KeyringReader } from "../keyring/keyring_reader.ts";
import type { SharedPolicyState } from "./policy_state.ts";
import type { Channel } from "./channel.ts";
import { createSharedDocuments } from "./shared_documents.ts";
import type { StateCalls } from "./state_calls.ts";

type Control = Pick<
  Channel<StateCalls, Record<never, never>>,
  "call" | "notify"
>;

/**
 * Connects the policies of a worker with the state that the control thread keeps for all.
 * @param thread Number of the thread, see `ControlState`.
 */
export function createWorkerState(
  control: Control,
  thread: number,
  { clock, settings: { kv } }: {
    readonly clock: Clock;
    readonly settings: Pick<Settings, "kv">;
  },
): SharedPolicyState {
  const source = {
    thread,
    acquire: (requests: readonly LimitRequest[]) =>
      control.call("acquireLimits", requests),
    release: (request: LimitRequest) => control.notify("releaseLimit", request),
  };
  return {
    counters: new SharedCounterStore(source, clock),
    logins: createLogins(control),
    documents: createSharedDocuments(control),
    registrations: {
      begin: (provider) => control.call("beginRegistration", provider),
      end: (provider) => control.notify("endRegistration", provider),
    },
    kvLimiters: new RemoteLimiters(control),
    keys: kv === undefined
      ? undefined
      : new KeyringReader(() => control.call("keyringMemory")),
    pins: {
      read: (place) => control.call("readPins", place),
      pin: (...args) => control.call("pinTools", ...args),
    },
    responses: {
      keep: (name, record) => control.call("keepResponse", name, record),
      find: (name) => control.call("findResponse", name),
      close: () => Promise.resolve(),
    },
    notify: (notice) => control.notify("notifyOfBudget", notice),
    healthTurns: {
      take: (id, rules) => control.call("takeCheck", id, rules),
      report: (id, rules, failure) =>
        control.call("reportCheck", id, rules, failure),
    },
  };
}

function createLogins(control: Control): LoginState {
  return {
    grants: {
      spend: (code, untilMs) => control.call("spendCode", code, untilMs),
      release: (code) => control.call("releaseCode", code),
      add: (grant, untilMs) => control.call("addGrant", grant, untilMs),
      touch: (...use) => control.call("touchGrant", ...use),
      list: () => control.call("listGrants"),
      end: (grant, untilMs) => control.call("endGrant", grant, untilMs),
      isEnded: (grant) => control.call("isGrantEnded", grant),
      useToken: (...use) => control.call("useToken", ...use),
      releaseToken: (...use) => control.call("releaseToken", ...use),
    },
    proofs: {
      spend: (key, id, untilMs) => control.call("spendProof", key, id, untilMs),
    },
    records: {
      read: (key) => control.call("readLoginRecord", key),
      replace: (...change) => control.call("replaceLoginRecord", ...change),
    },
    secret: () => control.call("loginSecret"),
    warnOfLoss: () => control.notify("warnOfLoginLoss"),
    close: () => Promise.resolve(),
  };
}

/** Limiters over Deno KV, which the control thread has: so all workers have one share of each budget. */
class RemoteLimiters {
  readonly #control: Control;
  #leases = 0;

  constructor(control: Control) {
    this.#control = control;
  }

  lease(): LimiterLease {
    const lease = ++this.#leases;
    return {
      limiter: (place, limits) => {
        this.#control.notify("useLimiter", lease, place, limits);
        return new RemoteLimiter(this.#control, limiterKey(place));
      },
      release: () => this.#control.notify("releaseLimiters", lease),
    };
  }

  open(): void {
    this.#control.notify("openLimiters");
  }
}

class RemoteLimiter implements GlobalLimiter {
  readonly #control: Control;
  readonly #place: string;

  constructor(control: Control, place: string) {
    this.#control = control;
    this.#place = place;
  }

  async admit(
    uses: readonly DescriptorUse[],
    expected?: Use,
  ): Promise<LimiterDecision> {
    try {
      return await this.#control.call("admit", this.#place, uses, expected);
    } catch (error) {
      return { verdict: "failed", error };
    }
  }

  debit(uses: readonly DescriptorUse[], use: Use, held?: HeldUse): void {
    this.#control.notify("debit", this.#place, uses, use, held);
  }

  refund(uses: readonly DescriptorUse[], held: HeldUse): void {
    this.#control.notify("refund", this.#place, uses, held);
  }
}
