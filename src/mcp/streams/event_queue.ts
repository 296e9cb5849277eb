import { Buffer } from "node:buffer";
import type { Clock } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Body } from "../../http/body.ts";
import type { HeldBytes } from "../../http/body_memory.ts";

/** Proxies end streams that are silent for long. */
const KEEP_ALIVE_MS = 15_000;
/** A client that reads so slowly is disconnected. */
const MAX_QUEUED = 16 * 1024 * 1024;
const comment = new TextEncoder().encode(": \n\n");

/** Follows the data of an event. */
export const EVENT_END = "\n\n";

/** Returns what precedes the data of a message. @param id Id with which the stream can be resumed after the event. */
export function eventStart(id: string | undefined): string {
  const start = "event: message\ndata: ";
  return id === undefined ? start : `id: ${id}\n${start}`;
}

/** The body of a stream of server-sent events: events are written at any time, and read when the client is ready. */
export class EventQueue implements Body {
  readonly length = undefined;
  readonly trailers = undefined;
  readonly #clock: Clock;
  readonly #onLeave: () => void;
  readonly #encoder = new TextEncoder();
  #chunks: Uint8Array[] = [];
  #queued = 0;
  /** Bytes that were read last, which the client may not have yet. */
  #sending = 0;
  #held: HeldBytes | undefined;
  #isOver = false;
  #wake: (() => void) | undefined;

  /** @param onLeave Called when the client goes before the end. */
  constructor(clock: Clock, onLeave: () => void) {
    this.#clock = clock;
    this.#onLeave = onLeave;
  }

  /** Counts from now on what waits for the client; a client that reads slowly is disconnected when memory is short. */
  holdIn(held: HeldBytes | undefined): void {
    this.#held = held;
  }

  /** Writes a message as an event. @param id Id with which the stream can be resumed after the event. */
  write(data: string, id?: string): void {
    this.writeRaw(eventStart(id) + data + EVENT_END);
  }

  /** Writes lines as they are. */
  writeRaw(text: string): void {
    if (this.#isOver) return;
    const bytes = this.#encoder.encode(text);
    const isTooMuch = this.#queued + bytes.length > MAX_QUEUED;
    if (isTooMuch || !this.#hold(bytes.length)) return this.cancel();
    this.#queued += bytes.length;
    this.#chunks.push(bytes);
    this.#wake?.();
  }

  /** Ends the stream. */
  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  async read(): Promise<Uint8Array | undefined> {
    this.#held?.release(this.#sending);
    this.#sending = 0;
    while (this.#chunks.length === 0) {
      if (this.#isOver) return undefined;
      if (!await this.#waitForMore()) return comment;
    }
    const [only = comment, ...others] = this.#chunks;
    const bytes = others.length === 0 ? only : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#queued = 0;
    this.#sending = bytes.length;
    return bytes;
  }

  cancel(): void {
    if (this.#isOver && this.#chunks.length === 0) return;
    const wasOver = this.#isOver;
    this.#isOver = true;
    this.#chunks = [];
    this.#held?.release(this.#queued);
    this.#queued = 0;
    this.#wake?.();
    if (!wasOver) this.#onLeave();
  }

  /** Returns false when memory is short. */
  #hold(bytes: number): boolean {
    try {
      this.#held?.take(bytes);
      return true;
    } catch (error) {
      if (error instanceof GatewayError) return false;
      throw error;
    }
  }

  /** Resolves to false when nothing has come in time. */
  #waitForMore(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const stop = this.#clock.setTimer(() => resolve(false), KEEP_ALIVE_MS);
    this.#wake = () => {
      stop();
      resolve(true);
    };
    return promise.finally(() => this.#wake = undefined);
  }
}
