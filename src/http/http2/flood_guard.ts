import { Http2ConnectionError } from "./frames/http2_error.ts";
import { ERROR_CODES } from "./frames/http2_protocol.ts";

/** Limit of idle frames without progress. Idle frames carry neither fields nor data. */
const MAX_IDLE_FRAMES = 1000;
/** Idle frames allowed per request and DATA frame: acknowledgements, window updates, measurements. */
const IDLE_FRAMES_PER_PROGRESS = 10;
/** Length of a counting period. */
const PERIOD_MS = 10_000;
/** Limit of replies, such as acknowledgements, that the peer does not read. */
const MAX_REPLY_BYTES = 64 * 1024;

/**
 * Ends connections of peers that cause work without making progress.
 *
 * Each of these frames is cheap to send and to handle, but without a limit the peer could use unlimited processor time. Resets cost
 * most, because a request may have begun (CVE-2023-44487); those that the gateway sends for protocol errors count too.
 */
export class FloodGuard {
  readonly #maxResets: () => number;
  readonly #now: () => number;
  #since: number;
  #idleFrames = 0;
  #resets = 0;

  /**
   * @param maxResets Returns the limit of reset streams within ten seconds; called for each reset.
   * @param now Monotonic milliseconds.
   */
  constructor(maxResets: () => number, now: () => number) {
    this.#maxResets = maxResets;
    this.#now = now;
    this.#since = now();
  }

  /** @throws {Http2ConnectionError} `ENHANCE_YOUR_CALM`. */
  countIdleFrame(): void {
    if (++this.#idleFrames <= MAX_IDLE_FRAMES || this.#beginPeriod()) return;
    throw tooMany("too many frames without content");
  }

  /** @throws {Http2ConnectionError} `ENHANCE_YOUR_CALM`. */
  countReset(): void {
    if (++this.#resets <= this.#maxResets() || this.#beginPeriod()) return;
    throw tooMany("too many resets");
  }

  /** @throws {Http2ConnectionError} `ENHANCE_YOUR_CALM`. */
  expectReader(replyBytes: number): void {
    if (replyBytes > MAX_REPLY_BYTES) {
      throw tooMany("too many unread replies");
    }
  }

  /** Records that a request or a part of a body was received or sent. */
  progress(): void {
    this.#idleFrames = Math.max(
      0,
      this.#idleFrames - IDLE_FRAMES_PER_PROGRESS,
    );
  }

  /** Starts a new period if the last one is over; reads the clock only when a limit is reached. */
  #beginPeriod(): boolean {
    const now = this.#now();
    if (now - this.#since < PERIOD_MS) return false;
    this.#since = now;
    this.#idleFrames = this.#resets = 0;
    return true;
  }
}

function tooMany(message: string): Http2ConnectionError {
  return new Http2ConnectionError(ERROR_CODES.enhanceYourCalm, message);
}
