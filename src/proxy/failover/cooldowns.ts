import type { Clock } from "../../base/clock.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type { Backend } from "../../snapshot/snapshot.ts";

/** Rest of a backend that limits requests without saying for how long. */
const LIMITED_MS = 5000;
/** Failures in a row after which a backend rests. */
const MAX_FAILURES = 3;
/** First rest of a backend that fails; each further one lasts twice as long. */
const FAILED_MS = 5000;
const MAX_FAILED_MS = 60_000;
/** Longest rest, whatever a backend asks for. */
const MAX_MS = 3_600_000;

/** State of one backend. */
interface Rest {
  readonly name: string;
  /** Monotonic time of its end. */
  readonly until: number;
  readonly failures: number;
  readonly reason: string;
}

/** A backend that rests. */
export interface CooldownReading {
  /** Key of the backend. */
  readonly backend: string;
  readonly name: string;
  readonly remainingMs: number;
  /** Failures in a row. */
  readonly failures: number;
  /** Reason of the latest one: a status, or the code of an error. */
  readonly reason: string;
}

/** Backends that get no requests for a while, because they asked for that or failed; outlives configurations. */
export class Cooldowns {
  readonly #clock: Clock;
  readonly #byBackend = new Map<string, Rest>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the time until the end of the rest, in milliseconds; 0 when the backend has none. */
  remainingMs(backend: string): number {
    const rest = this.#byBackend.get(backend);
    return rest === undefined
      ? 0
      : Math.max(0, rest.until - this.#clock.monotonic());
  }

  /** Lists the backends that rest. */
  describe(): readonly CooldownReading[] {
    return [...this.#byBackend].flatMap(([backend, rest]) => {
      const { name, failures, reason } = rest;
      const remainingMs = this.remainingMs(backend);
      return remainingMs === 0
        ? []
        : [{ backend, name, remainingMs, failures, reason }];
    });
  }

  /**
   * Records a failure.
   * @param reason Status or error code.
   * @param response Set when the backend responded.
   * @returns The rest that follows, in milliseconds; 0 for none.
   */
  failed(
    { key, name }: Pick<Backend, "key" | "name">,
    reason: string,
    response?: { readonly status: number; readonly headers: HeaderList },
  ): number {
    const failures = (this.#byBackend.get(key)?.failures ?? 0) + 1;
    const askedMs = response && readRetryAfter(response.headers, this.#clock);
    const further = failures - MAX_FAILURES;
    const ownMs = response?.status === 429
      ? LIMITED_MS
      : further < 0
      ? 0
      : Math.min(MAX_FAILED_MS, FAILED_MS * 2 ** further);
    const restMs = Math.min(MAX_MS, askedMs ?? ownMs);
    const until = this.#clock.monotonic() + restMs;
    this.#byBackend.set(key, { name, until, failures, reason });
    return restMs;
  }

  /** Records a good response. */
  succeeded(backend: string): void {
    this.#byBackend.delete(backend);
  }

  /** Forgets the backends that are not in `backends`. */
  retainOnly(backends: ReadonlyMap<string, unknown>): void {
    for (const backend of this.#byBackend.keys()) {
      if (!backends.has(backend)) this.#byBackend.delete(backend);
    }
  }
}

/** Reads `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110 section 10.2.3). */
function readRetryAfter(
  headers: HeaderList,
  clock: Clock,
): number | undefined {
  const milliseconds = headers.get("retry-after-ms");
  if (milliseconds !== undefined && /^[0-9]{1,12}$/.test(milliseconds)) {
    return Number(milliseconds);
  }
  const value = headers.get("retry-after");
  if (value === undefined) return undefined;
  if (/^[0-9]{1,9}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - clock.now());
}
