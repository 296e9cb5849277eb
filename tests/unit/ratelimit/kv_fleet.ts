import type { Clock } from "../../../src/base/clock.ts";
import type { BudgetDefinition } from "../../../src/ratelimit/budget/budget.ts";
import type { DescriptorUse } from "../../../src/ratelimit/limiter/global_limiter.ts";
import type { KvHandle } from "../../../src/kv/kv_handle.ts";
import { openKv } from "../../../src/kv/open_kv.ts";
import {
  KvLimiter,
  type KvLimiterOptions,
} from "../../../src/ratelimit/kv/kv_limiter.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";

/** Faults of a fleet. */
export interface FleetTroubles {
  /** Milliseconds by which the clock of each limiter is ahead; 0 by default. */
  readonly skews?: readonly number[];
  /** Replaces operations of the store. */
  readonly wrap?: (kv: KvHandle) => Partial<KvHandle>;
}

/** Several limiters over one store in memory, with one clock advanced by hand. */
export class KvFleet implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly limiters: readonly KvLimiter[];
  readonly #kv: KvHandle;
  /** Operations in progress at the store; those held back by `wrap` do not count. */
  #underWay = 0;

  private constructor(
    kv: KvHandle,
    size: number,
    options: Partial<KvLimiterOptions>,
    { skews = [], wrap = () => ({}) }: FleetTroubles,
  ) {
    this.#kv = kv;
    // The store outlives the limiters.
    const tracked: KvHandle = {
      read: (key) => this.#track(kv.read(key)),
      replace: (...args) => this.#track(kv.replace(...args)),
      commit: (...args) => this.#track(kv.commit(...args)),
      list: (...args) => this.#track(kv.list(...args)),
      delete: (key) => this.#track(kv.delete(key)),
      close: () => {},
    };
    const shared = { ...tracked, ...wrap(tracked) };
    this.limiters = Array.from({ length: size }, (_, index) =>
      new KvLimiter({
        path: ":memory:",
        domain: "test",
        clock: this.#clockAhead(skews[index] ?? 0),
        random: () => 0.5,
        open: () => Promise.resolve(shared),
        ...options,
      }));
  }

  static async open(
    size: number,
    options: Partial<KvLimiterOptions> = {},
    troubles: FleetTroubles = {},
  ): Promise<KvFleet> {
    return new KvFleet(await openKv(":memory:"), size, options, troubles);
  }

  get first(): KvLimiter {
    const [first] = this.limiters;
    if (first === undefined) throw new RangeError("the fleet is empty");
    return first;
  }

  /** Waits for a limiter; the clock advances only when the limiter waits for a retry. */
  async until<T>(result: T | Promise<T>): Promise<T> {
    let isDone = false;
    const answer = Promise.resolve(result).finally(() => isDone = true);
    for (let idleTurns = 0; !isDone;) {
      await this.#kv.read(["nothing"]);
      idleTurns = this.#underWay === 0 ? idleTurns + 1 : 0;
      // No operation is in progress: a retry waits for the clock.
      if (idleTurns % 20 === 19) this.clock.advance(1);
    }
    return await answer;
  }

  /** Advances the clock in small steps and completes the operations of the store after each. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      this.clock.advance(Math.min(50, ms - passed));
      await this.rest();
    }
  }

  /** Completes all operations of the store. */
  async rest(): Promise<void> {
    for (let turn = 0; turn < 5 || this.#underWay > 0; turn++) {
      await this.#kv.read(["nothing"]);
    }
  }

  /** Sends `count` requests one after the other; returns how many were admitted. */
  async admit(
    uses: readonly DescriptorUse[],
    count: number,
    limiter = this.first,
  ): Promise<number> {
    let admitted = 0;
    for (let request = 0; request < count; request++) {
      const { verdict } = await this.until(limiter.admit(uses));
      if (verdict === "admitted") admitted++;
    }
    return admitted;
  }

  #clockAhead(ms: number): Clock {
    const { clock } = this;
    return {
      now: () => clock.now() + ms,
      monotonic: () => clock.monotonic(),
      setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
    };
  }

  #track<T>(operation: Promise<T>): Promise<T> {
    this.#underWay++;
    return operation.finally(() => this.#underWay--);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const limiter of this.limiters) await this.until(limiter.close());
    this.#kv.close();
  }
}

/** Returns a use of a budget. */
export function useOf(
  budget: Partial<BudgetDefinition>,
  user = "anna",
): DescriptorUse {
  return {
    index: 0,
    budget: {
      unit: "requests",
      base: 10,
      burst: 0,
      windowMs: 60_000,
      overshoot: "Forgive",
      ...budget,
    },
    entries: [["user", user]],
  };
}
