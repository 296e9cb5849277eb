import { Cancellation } from "../../base/cancellation.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { messageWork } from "../../base/slices.ts";
import type { Body } from "../../http/body.ts";
import type { HeaderList } from "../../http/header_list.ts";

/** Observes a body while it is read. */
export interface Metering {
  /** Receives every byte that arrives. */
  readonly sink: { push(bytes: Uint8Array): void };
  /** Removes bytes before the reader gets them; may hold bytes back. */
  readonly filter?:
    | { push(bytes: Uint8Array): Uint8Array; finish(): Uint8Array }
    | undefined;
  /** Called once: after the last byte, or when the body is cancelled or fails. */
  end(isComplete: boolean): void;
  /** Reads the rest when the body is cancelled and is needed, and calls `end` then. */
  readonly drain?: {
    readonly clock: Clock;
    isNeeded(): boolean;
    started(draining: Promise<void>): void;
  } | undefined;
}

/** Time for which a response is read whose client left. */
export const DRAIN_MS = 60_000;
/** Bytes for which it is read. */
export const MAX_DRAINED_BYTES = 16 * 1024 * 1024;

/** Returns a cancellation that follows another one after the time for which a response is drained. */
export function outlive(parent: Cancellation, clock: Clock): Cancellation {
  const cancellation = new Cancellation();
  parent.onCancel((reason) =>
    clock.setTimer(() => cancellation.cancel(reason), DRAIN_MS)
  );
  return cancellation;
}

/** Observing a chunk takes longer only if somebody made it for that. */
const SLOW_CHUNK_MS = 2;
/** Shorter chunks never take so long. */
const TIMED_BYTES = 4096;

/** A body that is observed while it is read. */
export class MeteredBody implements Body {
  readonly length: number | undefined;
  readonly hasHeadroom: boolean;
  readonly #source: Body;
  readonly #metering: Metering;
  #reading: Promise<Uint8Array | undefined> | undefined;
  #isDraining = false;
  #isOver = false;

  constructor(source: Body, metering: Metering) {
    const isUnchanged = metering.filter === undefined;
    this.length = isUnchanged ? source.length : undefined;
    this.hasHeadroom = isUnchanged && source.hasHeadroom === true;
    this.#source = source;
    this.#metering = metering;
  }

  get trailers(): HeaderList | undefined {
    return this.#source.trailers;
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (this.#isOver) return undefined;
    const next = this.#source.read();
    return next instanceof Promise ? this.#readLater(next) : this.#take(next);
  }

  cancel(reason: unknown): void {
    if (this.#isDraining) return;
    const { drain } = this.#metering;
    if (drain?.isNeeded() !== true || this.#isOver) {
      this.#end(false);
      this.#source.cancel(reason);
      return;
    }
    this.#isOver = true;
    this.#isDraining = true;
    drain.started(this.#drain(reason, drain.clock));
  }

  /** Reads the rest for the meter alone, within limits. */
  async #drain(reason: unknown, clock: Clock): Promise<void> {
    const cancelTimer = clock.setTimer(
      () => this.#source.cancel(reason),
      DRAIN_MS,
    );
    let bytes = 0;
    let isComplete = false;
    try {
      let chunk = await (this.#reading ?? this.#source.read());
      while (chunk !== undefined && bytes <= MAX_DRAINED_BYTES) {
        bytes += chunk.length;
        this.#metering.sink.push(chunk);
        chunk = await this.#source.read();
      }
      isComplete = chunk === undefined;
    } catch {
      // The upstream broke off, or took too long: the rest is estimated.
    }
    cancelTimer();
    if (!isComplete) this.#source.cancel(reason);
    this.#metering.end(isComplete);
  }

  async #readLater(
    next: Promise<Uint8Array | undefined>,
  ): Promise<Uint8Array | undefined> {
    this.#reading = next;
    try {
      const chunk = await next;
      // The meter reads on by itself.
      if (this.#isDraining) return undefined;
      this.#reading = undefined;
      return await this.#take(chunk);
    } catch (error) {
      this.#end(false);
      throw error;
    }
  }

  #take(
    chunk: Uint8Array | undefined,
  ): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    const { sink, filter } = this.#metering;
    if (chunk === undefined) {
      const rest = this.#isOver ? undefined : filter?.finish();
      this.#end(true);
      return rest === undefined || rest.length === 0 ? undefined : rest;
    }
    const isTimed = chunk.length >= TIMED_BYTES;
    const startedAt = isTimed ? systemClock.monotonic() : 0;
    sink.push(chunk);
    const passed = filter === undefined ? chunk : filter.push(chunk);
    const isSlow = isTimed &&
      systemClock.monotonic() - startedAt > SLOW_CHUNK_MS;
    if (isSlow) return this.#passLater(passed);
    return passed.length > 0 ? passed : this.read();
  }

  async #passLater(passed: Uint8Array): Promise<Uint8Array | undefined> {
    await messageWork.pass();
    return passed.length > 0 ? passed : await this.read();
  }

  #end(isComplete: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#metering.end(isComplete);
  }
}
