import { type Clock, inTime } from "../../../base/clock.ts";
import type { ExportResult } from "./export_result.ts";

/** Reason for which records were dropped. */
export type DropReason = "queue_full" | "rejected" | "unavailable";

/** Dependencies of a delivery. */
export interface DeliveryOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Sends records; never rejects. */
  readonly send: (records: readonly Uint8Array[]) => Promise<ExportResult>;
  /** Called with the number of records that the collector has accepted. */
  readonly onExported: (records: number) => void;
  readonly onDropped: (reason: DropReason, records: number) => void;
  /** Called after each attempt. @param error Why it failed. */
  readonly onAttempt: (error: unknown) => void;
}

const BATCH_RECORDS = 512;
const BATCH_BYTES = 1024 * 1024;
const QUEUE_RECORDS = 8192;
const QUEUE_BYTES = 8 * 1024 * 1024;
/** Longest time that records wait for a batch to fill. */
const DELAY_MS = 1000;
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;
/** A batch that the collector has not taken for so long is dropped. */
const MAX_AGE_MS = 60_000;

/**
 * Queues records and sends them in batches, one at a time, again after a failure.
 *
 * A slow or dead collector costs records, never memory: those beyond 8,192 or 8 MiB are dropped and counted.
 */
export class Delivery {
  readonly #options: DeliveryOptions;
  #queue: Uint8Array[] = [];
  #bytes = 0;
  #cancelTimer: (() => void) | undefined;
  #sending: Promise<void> | undefined;
  /** Ends the wait before another attempt. */
  #wake: (() => void) | undefined;
  #isClosing = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Records in the queue, and the capacity. */
  get waiting(): { readonly used: number; readonly capacity: number } {
    return { used: this.#queue.length, capacity: QUEUE_RECORDS };
  }

  /** Adds a record, or drops it. */
  add(record: Uint8Array): void {
    if (
      this.#isClosing || this.#queue.length >= QUEUE_RECORDS ||
      this.#bytes + record.length > QUEUE_BYTES
    ) return this.#options.onDropped("queue_full", 1);
    this.#queue.push(record);
    this.#bytes += record.length;
    if (this.#sending !== undefined) return;
    if (this.#queue.length >= BATCH_RECORDS || this.#bytes >= BATCH_BYTES) {
      this.#start();
    } else {
      this.#cancelTimer ??= this.#options.clock.setTimer(
        () => this.#start(),
        DELAY_MS,
      );
    }
  }

  /** Sends what is queued, once, and drops what is not sent within `timeoutMs`. Later records are dropped. */
  async close(timeoutMs: number): Promise<void> {
    this.#isClosing = true;
    this.#wake?.();
    if (this.#queue.length > 0 && this.#sending === undefined) this.#start();
    if (this.#sending === undefined) return;
    await inTime(this.#options.clock, timeoutMs, this.#sending);
    const left = this.#queue.length;
    this.#queue = [];
    if (left > 0) this.#options.onDropped("unavailable", left);
  }

  #start(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#sending = this.#sendAll().then(() => {
      this.#sending = undefined;
      // Records that came during the last export wait for others, as the first ones did.
      if (this.#queue.length === 0 || this.#isClosing) return;
      this.#cancelTimer = this.#options.clock.setTimer(
        () => this.#start(),
        DELAY_MS,
      );
    });
  }

  async #sendAll(): Promise<void> {
    do {
      await this.#sendBatch(this.#takeBatch());
    } while (
      this.#queue.length >= BATCH_RECORDS || this.#bytes >= BATCH_BYTES ||
      (this.#isClosing && this.#queue.length > 0)
    );
  }

  #takeBatch(): readonly Uint8Array[] {
    let count = 0;
    let bytes = 0;
    for (const record of this.#queue) {
      if (count === BATCH_RECORDS) break;
      if (count > 0 && bytes + record.length > BATCH_BYTES) break;
      count++;
      bytes += record.length;
    }
    this.#bytes -= bytes;
    return this.#queue.splice(0, count);
  }

  async #sendBatch(batch: readonly Uint8Array[]): Promise<void> {
    const { clock, send, random } = this.#options;
    const { onExported, onDropped, onAttempt } = this.#options;
    const giveUpAt = clock.monotonic() + MAX_AGE_MS;
    for (let backoffMs = FIRST_BACKOFF_MS;; backoffMs *= 2) {
      const result = await send(batch);
      onAttempt(result.kind === "accepted" ? undefined : result.error);
      if (result.kind === "accepted") {
        const rejected = Math.min(result.rejected, batch.length);
        onExported(batch.length - rejected);
        if (rejected > 0) onDropped("rejected", rejected);
        return;
      }
      if (result.kind === "rejected") {
        return onDropped("rejected", batch.length);
      }
      const delayMs = result.retryAfterMs ??
        Math.min(backoffMs, MAX_BACKOFF_MS) * (0.5 + random() / 2);
      if (this.#isClosing || clock.monotonic() + delayMs > giveUpAt) {
        return onDropped("unavailable", batch.length);
      }
      await this.#pause(delayMs);
    }
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancelTimer = this.#options.clock.setTimer(resolve, delayMs);
      this.#wake = () => {
        cancelTimer();
        resolve();
      };
    });
  }
}
