import { systemClock } from "../../base/clock.ts";
import { messageWork } from "../../base/slices.ts";
import type { Body } from "../../http/body.ts";
import type { HeaderList } from "../../http/header_list.ts";

/** Observes a body while it is read. */
export interface Metering {
  /** Receives every byte that arrives. */
  readonly sink: { push(bytes: Uint8Array): void };
  /** Removes bytes before the reader gets them; may hold bytes back. */
  readonly filter:
    | { push(bytes: Uint8Array): Uint8Array; finish(): Uint8Array }
    | undefined;
  /** Called once: after the last byte, or when the body is cancelled or fails. */
  end(isComplete: boolean): void;
}

/** Observing a chunk takes longer only if somebody made it for that. */
const SLOW_CHUNK_MS = 2;

/** A body that is observed while it is read. */
export class MeteredBody implements Body {
  readonly length: number | undefined;
  readonly hasHeadroom: boolean;
  readonly #source: Body;
  readonly #metering: Metering;
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
    this.#end(false);
    this.#source.cancel(reason);
  }

  async #readLater(
    next: Promise<Uint8Array | undefined>,
  ): Promise<Uint8Array | undefined> {
    try {
      return await this.#take(await next);
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
    const startedAt = systemClock.monotonic();
    sink.push(chunk);
    const passed = filter === undefined ? chunk : filter.push(chunk);
    const isSlow = systemClock.monotonic() - startedAt > SLOW_CHUNK_MS;
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
