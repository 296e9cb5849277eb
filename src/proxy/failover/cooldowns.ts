import type { Clock } from "../../base/clock.ts";
import type { HeaderList } from "../../http/header_list.ts";
import { readRetryAfter } from "../../http/retry_after.ts";
import type { Backend } from "../../snapshot/backend.ts";
import { SilenceWatch } from "../balancing/silence_watch.ts";
import { ModelStates } from "./model_states.ts";
import { readExhaustedMs } from "./quota.ts";

/** Rest of a backend that limits requests without saying for how long. */
const LIMITED_MS = 5000;
/** Failures in a row after which a backend rests. */
const MAX_FAILURES = 3;
/** First rest of a backend that fails; each further one lasts twice as long. */
const FAILED_MS = 5000;
const MAX_FAILED_MS = 60_000;
/** Longest rest, whatever a backend asks for. */
const MAX_MS = 3_600_000;
/** Time after a rest in which only requests that may be repeated try the backend. */
const UNREPEATABLE_MS = 60_000;
/** Time in which one request tries a backend after its rest, and no other does. */
const TRIAL_MS = 5000;
/** Shortest time for the response of a backend that had stopped responding. */
const MIN_TRIAL_MS = 2000;
/** Silence of an LLM that says something about it, while the usual time of its responses is not known. */
const LLM_SILENCE_MS = 15_000;

/** Reason of a rest after `SilenceWatch` has noticed a silence. */
const SILENCE = "silence";

/** State of one backend. */
interface State {
  readonly name: string;
  readonly silence: SilenceWatch;
  /** Monotonic time of the end of its rest. */
  until: number;
  /** In a row; 0 when it is well. */
  failures: number;
  reason: string;
  /** The latest failure was one before the request was sent: to try again costs a request nothing. */
  isSafeToTry: boolean;
}

/** A backend that rests. */
export interface CooldownReading {
  /** Key of the backend. */
  readonly backend: string;
  readonly name: string;
  /** Set when requests for other models may go there. */
  readonly model?: string;
  readonly remainingMs: number;
  /** Failures in a row. */
  readonly failures: number;
  /** Reason of the latest one: a status, or the code of an error. */
  readonly reason: string;
}

/** A failure of a backend. */
export interface BackendFailure {
  /** Status or error code. */
  readonly reason: string;
  /** The backend cannot have received the request. */
  readonly wasUnsent: boolean;
  /** Set when the backend responded. */
  readonly response?:
    | { readonly status: number; readonly headers: HeaderList }
    | undefined;
}

/** Backends that get no requests for a while, because they asked for that or failed; outlives configurations. */
export class Cooldowns {
  /** State of the models of LLM providers: a rate limit is that of a model. */
  readonly models = new ModelStates();
  readonly #clock: Clock;
  readonly #byBackend = new Map<string, State>();
  readonly #now = () => this.#clock.monotonic();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the time until a request may try the backend, in milliseconds; 0 when it may now.
   * @param mayRepeat The request can go to another backend when this one fails.
   * @param model That the request names.
   */
  remainingMs(backend: Backend, mayRepeat: boolean, model?: string): number {
    const ofModel = this.models.find(backend, model)?.restMs(this.#now()) ?? 0;
    return Math.max(ofModel, this.#restOfBackend(backend, mayRepeat));
  }

  #restOfBackend({ key }: Backend, mayRepeat: boolean): number {
    const state = this.#byBackend.get(key);
    if (state === undefined) return 0;
    if (state.silence.isSilent(this.#now)) {
      const failures = Math.max(MAX_FAILURES, state.failures + 1);
      this.#rest(state, SILENCE, restOf(failures), failures);
    }
    if (state.until === 0) return 0;
    const delayMs = mayRepeat || state.isSafeToTry ? 0 : UNREPEATABLE_MS;
    return Math.max(0, state.until + delayMs - this.#now());
  }

  /** Lists the backends that rest. */
  describe(): readonly CooldownReading[] {
    const now = this.#now();
    const backends = this.#byBackend.entries()
      .filter(([, { until }]) => until > now)
      .map(([backend, { name, failures, reason, until }]) => ({
        backend,
        name,
        remainingMs: until - now,
        failures,
        reason,
      }));
    return [...backends, ...this.models.resting(now)];
  }

  /**
   * Records that a request is sent to a backend; after a rest, it is the only one to try it for a while.
   * @param isPrompt The response does not wait for the client.
   * @returns Time for the response of a backend that had stopped responding; 0 for others.
   */
  sent(backend: Backend, isPrompt: boolean): number {
    const state = this.#stateOf(backend);
    if (isPrompt) state.silence.sent(this.#now);
    if (state.failures < MAX_FAILURES || state.until === 0) return 0;
    state.until = Math.max(state.until, this.#now() + TRIAL_MS);
    const wasSilent = state.reason === SILENCE ||
      state.reason === "upstream_timeout";
    return wasSilent ? Math.max(MIN_TRIAL_MS, state.silence.limitMs) : 0;
  }

  /** Records that a client has disconnected before the response. */
  abandoned({ key }: Backend): void {
    this.#byBackend.get(key)?.silence.abandoned(this.#now());
  }

  /**
   * Records a failure. A rate limit of an LLM provider concerns the model alone, if it is known.
   * @param model That the request names.
   * @returns The rest that follows, in milliseconds; 0 for none.
   */
  failed(
    backend: Backend,
    { reason, wasUnsent, response }: BackendFailure,
    model?: string,
  ): number {
    const state = this.#stateOf(backend);
    state.silence.responded();
    const failures = state.failures + 1;
    const isLimited = response?.status === 429;
    const askedMs = response && this.#askedMs(response.headers, isLimited);
    const ownMs = isLimited ? LIMITED_MS : restOf(failures);
    const restMs = Math.min(MAX_MS, askedMs ?? ownMs);
    const limited = isLimited ? this.models.named(backend, model) : undefined;
    if (limited !== undefined) {
      limited.rest({ name: backend.name, until: this.#now() + restMs, reason });
      return restMs;
    }
    this.#rest(state, reason, restMs, failures);
    state.isSafeToTry = wasUnsent;
    return restMs;
  }

  /** Records a good response. @param latencyMs Time until it began. */
  succeeded(
    backend: Backend,
    latencyMs: number | undefined,
    model?: string,
  ): void {
    this.models.named(backend, model)?.rest(undefined);
    const state = this.#byBackend.get(backend.key);
    if (state === undefined) return;
    state.silence.responded(latencyMs);
    state.failures = 0;
    state.until = 0;
  }

  /** Forgets the backends that are not in `backends`. */
  retainOnly(backends: ReadonlyMap<string, unknown>): void {
    for (const backend of this.#byBackend.keys()) {
      if (!backends.has(backend)) this.#byBackend.delete(backend);
    }
    this.models.retainOnly(backends);
  }

  /** Returns the rest that a response asks for, or the reset of a limit that is used up. */
  #askedMs(headers: HeaderList, isLimited: boolean): number | undefined {
    return readRetryAfter(headers, this.#clock) ??
      (isLimited ? readExhaustedMs(headers, this.#clock) : undefined);
  }

  #rest(state: State, reason: string, restMs: number, failures: number): void {
    state.until = restMs === 0 ? 0 : this.#now() + restMs;
    state.failures = failures;
    state.reason = reason;
    state.isSafeToTry = false;
    state.silence.responded();
  }

  #stateOf({ key, name, llm }: Backend): State {
    return this.#byBackend.getOrInsertComputed(key, () => ({
      name,
      silence: new SilenceWatch(llm === undefined ? undefined : LLM_SILENCE_MS),
      until: 0,
      failures: 0,
      reason: "",
      isSafeToTry: false,
    }));
  }
}

/** Returns the rest after so many failures in a row, in milliseconds. */
function restOf(failures: number): number {
  const further = failures - MAX_FAILURES;
  return further < 0 ? 0 : Math.min(MAX_FAILED_MS, FAILED_MS * 2 ** further);
}
