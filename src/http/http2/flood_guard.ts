import { Http2ConnectionError } from "./http2_error.ts";
import { ERROR_CODES } from "./http2_protocol.ts";

/** Frames that move nothing on which a peer may send ahead of those that do. */
const MAX_IDLE_FRAMES = 1000;
/** Such frames for which each request and each DATA frame makes up: acknowledgements, window updates, measurements. */
const IDLE_FRAMES_PER_PROGRESS = 10;
/** Floods are counted for so long. */
const PERIOD_MS = 10_000;
/** Bytes of answers that the peer asked for and does not read. */
const MAX_REPLY_BYTES = 64 * 1024;

/**
 * Ends connections of peers that make work without letting anything come of it.
 *
 * Each of these frames is cheap to send and cheap to handle; without a bound the peer would have as much of our time as it likes.
 * Resets cost most, because a request may have begun (CVE-2023-44487): also those that we send because the peer broke a rule.
 */
export class FloodGuard {
  readonly #maxResets: () => number;
  readonly #now: () => number;
  #since: number;
  #idleFrames = 0;
  #resets = 0;

  /**
   * @param maxResets Streams that may be reset within ten seconds; asked each time.
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
      throw tooMany("too many answers that are not read");
    }
  }

  /** A request or a part of a body was received or sent. */
  progress(): void {
    this.#idleFrames = Math.max(
      0,
      this.#idleFrames - IDLE_FRAMES_PER_PROGRESS,
    );
  }

  /** Counts anew, if the last time is long ago; the clock is only asked when a bound is reached. */
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
