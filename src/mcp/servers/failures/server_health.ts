import { type Clock, recentTime } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import type { ServerFailure } from "./server_failure.ts";

/** Pause between two checks of a server that has failed: with a check of at most 3 s, it is back within 5 s. */
const CHECK_PAUSE_MS = 1000;
/** A server that nobody has needed for so long is not checked. */
const FORGET_MS = 120_000;

/** Longest message of a failure, for humans, in characters. */
const MAX_MESSAGE = 512;

/** Dependencies of the health of a server. */
export interface HealthOptions {
  readonly clock: Clock;
  /** Connects to the server and lists its tools. @throws {ServerFailure} While it does not respond as it should. */
  check(): Promise<void>;
  /** Called when the server fails or comes back; `undefined` when it is well. */
  onChange(failure: ServerFailure | undefined): void;
}

/** A failure with its causes, and its time, in milliseconds since the epoch. */
export interface RecordedFailure {
  readonly message: string;
  readonly at: number;
}

/** Health of a server, for humans. */
export interface HealthStatus {
  readonly isFailed: boolean;
  /** When the server failed or came back, in milliseconds since the epoch; `undefined` if it has never failed. */
  readonly changedAt: number | undefined;
  /** The latest failure, also of a server that is back. */
  readonly latest: RecordedFailure | undefined;
}

/** Tracks whether a server responds. One that does not is checked until it does, so that no client has to wait for it. */
export class ServerHealth {
  readonly #options: HealthOptions;
  #failure: ServerFailure | undefined;
  #latest: RecordedFailure | undefined;
  #changedAt: number | undefined;
  #usedAt = 0;
  #stop: (() => void) | undefined;
  #isClosed = false;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  /** The failure of a server that does not respond as it should; asking for it keeps the checks going. */
  get failure(): ServerFailure | undefined {
    this.#usedAt = recentTime(this.#options.clock);
    if (this.#failure !== undefined) this.#schedule();
    return this.#failure;
  }

  /** State for humans, which does not count as use. */
  describe(): HealthStatus {
    return {
      isFailed: this.#failure !== undefined,
      changedAt: this.#changedAt,
      latest: this.#latest,
    };
  }

  /** Records that the server has failed. */
  failed(failure: ServerFailure): void {
    const isNew = this.#failure === undefined;
    const at = this.#options.clock.now();
    this.#failure = failure;
    const message = describeError(failure).slice(0, MAX_MESSAGE);
    this.#latest = { message, at };
    if (isNew) this.#changedAt = at;
    if (isNew && !this.#isClosed) this.#options.onChange(failure);
    this.#schedule();
  }

  /** Checks a server that has failed now: its user has done something about it. */
  async recheck(): Promise<void> {
    if (this.#failure === undefined || this.#isClosed) return;
    this.#stop?.();
    await this.#check();
  }

  /** Ends the checks. */
  close(): void {
    this.#isClosed = true;
    this.#stop?.();
  }

  #schedule(): void {
    if (this.#stop !== undefined || this.#isClosed) return;
    const { clock } = this.#options;
    this.#stop = clock.setTimer(() => void this.#check(), CHECK_PAUSE_MS);
  }

  async #check(): Promise<void> {
    const { clock, check, onChange } = this.#options;
    const isForgotten = clock.monotonic() - this.#usedAt > FORGET_MS;
    if (isForgotten) {
      this.#stop = undefined;
      return;
    }
    try {
      await check();
      this.#failure = undefined;
      this.#changedAt = clock.now();
      if (!this.#isClosed) onChange(undefined);
    } catch {
      // It still has the failure that was recorded first.
    }
    this.#stop = undefined;
    if (this.#failure !== undefined) this.#schedule();
  }
}
