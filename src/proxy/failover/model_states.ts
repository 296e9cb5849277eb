import type { Clock } from "../../base/clock.ts";
import { setNewest } from "../../base/kept_values.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type { Backend } from "../../snapshot/backend.ts";
import { modelOf } from "../../llm/llm_target.ts";
import { PeakEwma } from "./peak_ewma.ts";
import { type Quota, readQuota, shareLeft } from "./quota.ts";

/** Models come from clients: those that were used longest ago are forgotten. */
const MAX_MODELS = 64;

/** A request that has no response yet. */
export interface UnansweredRequest {
  readonly startedAt: number;
}

/** Reason for which a model gets no requests for a while. */
interface ModelRest {
  /** Name of its backend. */
  readonly name: string;
  /** Monotonic, in milliseconds. */
  readonly until: number;
  readonly reason: string;
}

/** State of a model at a backend, as requests have shown it. Times are monotonic, in milliseconds. */
export class ModelState {
  /** Time to the first event of streams. */
  readonly stream = new PeakEwma();
  /** Time to the head of other responses. */
  readonly whole = new PeakEwma();
  readonly #unanswered = new Set<UnansweredRequest>();
  #quota: Quota | undefined;
  #rest: ModelRest | undefined;

  /** Number of requests without a response. */
  get load(): number {
    return this.#unanswered.size;
  }

  /** Records that a request is sent. @returns What `ended` gets when it has a response, or none will come. */
  sent(now: number): UnansweredRequest {
    const request = { startedAt: now };
    this.#unanswered.add(request);
    return request;
  }

  /** Records that a request of `sent` is over. */
  ended(request: UnansweredRequest): void {
    this.#unanswered.delete(request);
  }

  /** Records the head of a response. */
  responded(headers: HeaderList, clock: Clock): void {
    this.#quota = readQuota(headers, clock) ?? this.#quota;
  }

  /** Returns the time that a response takes; 0 if it is not known. A request that waits for longer counts. */
  latencyMs(isStreaming: boolean, now: number): number {
    const known = isStreaming ? this.stream : this.whole;
    const [oldest] = this.#unanswered;
    const waitingMs = oldest === undefined ? 0 : now - oldest.startedAt;
    return Math.max(known.valueAt(now), waitingMs);
  }

  /** Begins a rest; `undefined` ends it. */
  rest(rest: ModelRest | undefined): void {
    this.#rest = rest;
  }

  /** Returns the rest of a rate limit, in milliseconds; 0 for none. */
  restMs(now: number): number {
    return Math.max(0, (this.#rest?.until ?? 0) - now);
  }

  /** Describes the rest of a rate limit, if there is one. */
  resting(now: number) {
    const { name = "", reason = "" } = this.#rest ?? {};
    const remainingMs = this.restMs(now);
    return remainingMs === 0 ? [] : [{ name, reason, remainingMs }];
  }

  /** Returns the part of the rate limits that is left, 0 to 1. */
  quotaLeft(now: number): number {
    return shareLeft(this.#quota, now);
  }
}

/** State of the models at backends; outlives configurations. */
export class ModelStates {
  readonly #byBackend = new Map<string, Map<string, ModelState>>();

  /** Returns the state of a model, by the name that a client has for it; without one, that of all requests that name none. */
  of(backend: Backend, requested?: string): ModelState {
    const model = modelAt(backend, requested) ?? "";
    const models = this.#byBackend.getOrInsertComputed(
      backend.key,
      () => new Map(),
    );
    const state = models.get(model) ?? new ModelState();
    setNewest(models, model, state, MAX_MODELS);
    return state;
  }

  /** Returns the state of a model of an LLM provider; `undefined` if the model is not known. */
  named(backend: Backend, requested?: string): ModelState | undefined {
    return modelAt(backend, requested) === undefined
      ? undefined
      : this.of(backend, requested);
  }

  /** Returns the state of a model that had requests. */
  find(backend: Backend, requested?: string): ModelState | undefined {
    const model = modelAt(backend, requested);
    return model === undefined
      ? undefined
      : this.#byBackend.get(backend.key)?.get(model);
  }

  /** Lists the models that rest. */
  *resting(now: number) {
    for (const [backend, models] of this.#byBackend) {
      for (const [model, state] of models) {
        for (const rest of state.resting(now)) {
          yield { backend, model, failures: 1, ...rest };
        }
      }
    }
  }

  /** Forgets the backends that are not in `backends`. */
  retainOnly(backends: ReadonlyMap<string, unknown>): void {
    for (const backend of this.#byBackend.keys()) {
      if (!backends.has(backend)) this.#byBackend.delete(backend);
    }
  }
}

/** Returns the name of a model at an LLM provider; `undefined` elsewhere. */
export function modelAt(
  { llm }: Pick<Backend, "llm">,
  requested: string | undefined,
): string | undefined {
  return llm && modelOf(llm, requested);
}
