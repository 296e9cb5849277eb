import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";

/** Dependencies and limits of a line writer. */
export interface LineWriterOptions {
  /** Writes some of the bytes and returns how many, as `Deno.stdout.write` does. */
  readonly write: (bytes: Uint8Array) => Promise<number>;
  readonly clock: Clock;
  /** Longest time that a line is buffered, in milliseconds. */
  readonly maxDelayMs: number;
}

const FLUSH_CHARS = 16 * 1024;
const MAX_PENDING_CHARS = 1024 * 1024;
const QUIET_MS = 60_000;
const encoder = new TextEncoder();

/**
 * Buffers lines and writes them in batches, one write at a time.
 *
 * A slow reader costs lines, never memory: lines beyond a buffer of 1 MiB are dropped and counted. A failed write, such as to a
 * closed pipe, drops its batch.
 */
export class LineWriter {
  readonly #options: LineWriterOptions;
  #pending = "";
  #pendingLines = 0;
  #droppedLines = 0;
  #writing: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #reportLoss: (reason: string) => void = () => {};
  #reportedAt = -Infinity;

  constructor(options: LineWriterOptions) {
    this.#options = options;
  }

  /** Lines lost since the start. */
  get droppedLines(): number {
    return this.#droppedLines;
  }

  /** Buffered characters, and the capacity. */
  get waiting(): { readonly used: number; readonly capacity: number } {
    return { used: this.#pending.length, capacity: MAX_PENDING_CHARS };
  }

  /** Calls `report` with the reason when lines are lost, at most once a minute. */
  onLoss(report: (reason: string) => void): void {
    this.#reportLoss = report;
  }

  /** @param line With its line break. */
  write(line: string): void {
    if (this.#pending.length + line.length > MAX_PENDING_CHARS) {
      this.#lose(1, "its reader or its disk is too slow");
      return;
    }
    this.#add(line, 1);
  }

  /** Adds several lines, once there is room for them; resolves when they are added. */
  async writeBatch(lines: string): Promise<void> {
    while (
      this.#pending !== "" &&
      this.#pending.length + lines.length > MAX_PENDING_CHARS
    ) {
      if (this.#writing === undefined) this.#start();
      await this.#writing;
    }
    this.#add(lines, lines.split("\n").length - 1);
  }

  #add(text: string, lines: number): void {
    this.#pending += text;
    this.#pendingLines += lines;
    if (this.#writing !== undefined) return;
    if (this.#pending.length >= FLUSH_CHARS) {
      this.#start();
      return;
    }
    this.#cancelTimer ??= this.#options.clock.setTimer(
      () => this.#start(),
      this.#options.maxDelayMs,
    );
  }

  /** Resolves when all lines so far are written or lost. */
  async flush(): Promise<void> {
    while (this.#pending !== "" || this.#writing !== undefined) {
      if (this.#writing === undefined) this.#start();
      await this.#writing;
    }
  }

  #start(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#writing = this.#writePending().then(() => {
      this.#writing = undefined;
      // A line may have been added while the last write ended.
      if (this.#pending !== "") this.#start();
    });
  }

  async #writePending(): Promise<void> {
    while (this.#pending !== "") {
      const bytes = encoder.encode(this.#pending);
      const lines = this.#pendingLines;
      this.#pending = "";
      this.#pendingLines = 0;
      try {
        for (let sent = 0; sent < bytes.length;) {
          sent += await this.#options.write(bytes.subarray(sent));
        }
      } catch (error) {
        this.#lose(lines, describeError(error));
      }
    }
  }

  #lose(lines: number, reason: string): void {
    this.#droppedLines += lines;
    const now = this.#options.clock.monotonic();
    if (now - this.#reportedAt < QUIET_MS) return;
    this.#reportedAt = now;
    this.#reportLoss(reason);
  }
}
