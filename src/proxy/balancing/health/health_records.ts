import type { Clock } from "../../../base/clock.ts";
import type { HealthCheck } from "../../../snapshot/backend.ts";

/** The outcome of the checks of an endpoint. */
export interface Verdict {
  readonly isPassing: boolean;
  /** Reason why the latest check failed; `null` when it passed. */
  readonly failure: string | null;
  /** Milliseconds since the epoch. */
  readonly checkedAt: number;
}

/** The state of an endpoint, and what the caller has to do. */
export interface CheckTurn {
  /** `undefined` before the first check. */
  readonly verdict: Verdict | undefined;
  /** Time until the caller asks again; 0 if the caller makes the check now. */
  readonly dueInMs: number;
  /** Set in the response to a report that changed `isPassing`, also from unknown to failing. */
  readonly hasChanged?: boolean;
}

/** Settings that decide turns. */
export type CheckRules = Pick<
  HealthCheck,
  "intervalMs" | "timeoutMs" | "healthyThreshold" | "unhealthyThreshold"
>;

/** Shares the checks of endpoints among threads: each is made once, by the thread that takes the turn. */
export interface HealthTurns {
  /** @param id Identifies an endpoint and how it is checked. */
  take(id: string, rules: CheckRules): CheckTurn | Promise<CheckTurn>;
  /** Ends a turn. @param failure `null` for a passed check. */
  report(
    id: string,
    rules: CheckRules,
    failure: string | null,
  ): CheckTurn | Promise<CheckTurn>;
}

/** Longest time until a thread learns that the check of another has ended. */
const ASK_AGAIN_MS = 250;
/** Time that a thread has beyond the time-out of a check to report it. */
const GRACE_MS = 1000;
/** Records of endpoints that nobody has asked about for so many intervals are forgotten. */
const MAX_UNUSED_INTERVALS = 10;
const JITTER = 0.1;

interface CheckRecord {
  verdict: Verdict | undefined;
  /** Outcomes in a row that differ from the verdict. */
  inARow: number;
  /** Monotonic time of the next check. */
  dueAt: number;
  /** Monotonic time until which a thread has the turn. */
  takenUntil: number;
  expiresAt: number;
}

/** The health of endpoints by their checks. Needs no message when a thread ends: its turns expire. */
export class HealthRecords implements HealthTurns {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #records = new Map<string, CheckRecord>();
  #cleansAt = 0;

  /** @param random Uniform in [0, 1). */
  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  get size(): number {
    return this.#records.size;
  }

  take(id: string, rules: CheckRules): CheckTurn {
    const record = this.#use(id, rules);
    const now = this.#clock.monotonic();
    const { verdict, dueAt, takenUntil } = record;
    if (now < dueAt) return { verdict, dueInMs: dueAt - now };
    if (now < takenUntil) return { verdict, dueInMs: ASK_AGAIN_MS };
    record.takenUntil = now + rules.timeoutMs + GRACE_MS;
    return { verdict, dueInMs: 0 };
  }

  report(id: string, rules: CheckRules, failure: string | null): CheckTurn {
    const record = this.#use(id, rules);
    const before = record.verdict?.isPassing;
    const hasPassed = failure === null;
    record.inARow = hasPassed === before ? 0 : record.inARow + 1;
    const threshold = hasPassed
      ? rules.healthyThreshold
      : rules.unhealthyThreshold;
    // The first check decides alone.
    const turns = before === undefined || record.inARow >= threshold;
    const isPassing = turns ? hasPassed : before;
    if (turns) record.inARow = 0;
    const verdict = { isPassing, failure, checkedAt: this.#clock.now() };
    const jitter = 1 + JITTER * (2 * this.#random() - 1);
    const dueInMs = Math.max(1, rules.intervalMs * jitter);
    record.verdict = verdict;
    record.dueAt = this.#clock.monotonic() + dueInMs;
    record.takenUntil = 0;
    const hasChanged = isPassing !== (before ?? true);
    return { verdict, dueInMs, hasChanged };
  }

  #use(id: string, { intervalMs, timeoutMs }: CheckRules): CheckRecord {
    const now = this.#clock.monotonic();
    const expiresAt = now + MAX_UNUSED_INTERVALS * (intervalMs + timeoutMs);
    if (now >= this.#cleansAt) this.#clean(now);
    const record = this.#records.getOrInsertComputed(id, () => ({
      verdict: undefined,
      inARow: 0,
      dueAt: now,
      takenUntil: 0,
      expiresAt,
    }));
    record.expiresAt = expiresAt;
    this.#cleansAt = Math.min(this.#cleansAt, expiresAt);
    return record;
  }

  #clean(now: number): void {
    this.#cleansAt = Infinity;
    for (const [id, { expiresAt }] of this.#records) {
      if (expiresAt <= now) this.#records.delete(id);
      else this.#cleansAt = Math.min(this.#cleansAt, expiresAt);
    }
  }
}
