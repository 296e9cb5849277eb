import type { RequestMessage } from "../../http/message.ts";

/** Requests without a response that make a silence. */
const MIN_UNANSWERED = 3;
/** A silence lasts for so many times the usual time to a response. */
const USUAL_FACTOR = 4;
/** Likewise for a single request. */
const LONE_FACTOR = 20;
const MIN_LONE_MS = 2000;
/** Part of the newest time in the usual one. */
const WEIGHT = 0.2;
/** Times from which the usual one is known. */
const MIN_TIMES = 4;
/** Shortest silence. */
const MIN_MS = 750;
/** Longer bodies may take their client a while. */
const MAX_BODY_BYTES = 64 * 1024;

/**
 * Notices that an upstream has stopped responding, also when its clients disconnect before a time-out.
 *
 * An upstream that takes long for every response is not silent: the limit grows with the time that its responses usually take.
 * Times are monotonic, in milliseconds.
 */
export class SilenceWatch {
  readonly #unknownMs: number;
  #times = 0;
  #unanswered = 0;
  /** Start of the first request since the latest response. */
  #since = 0;
  #usualMs = 0;

  /** @param unknownMs Shortest silence while the usual time is not known. */
  constructor(unknownMs = MIN_MS) {
    this.#unknownMs = unknownMs;
  }

  /** Records that a request is sent. @param now Called if its time matters. */
  sent(now: () => number): void {
    if (this.#unanswered++ === 0) this.#since = now();
  }

  /** Records a response, or an error that stands for one. @param latencyMs `undefined` if it was not measured. */
  responded(latencyMs?: number): void {
    this.#unanswered = 0;
    if (latencyMs === undefined) return;
    this.#times++;
    this.#usualMs += (latencyMs - this.#usualMs) * WEIGHT;
  }

  /** Records that a client has disconnected: a request that waited for long stays unanswered. */
  abandoned(now: number): void {
    if (now - this.#since < this.limitMs && this.#unanswered > 0) {
      this.#unanswered--;
    }
  }

  /** Reports whether several requests have had no response for long, or one for very long. */
  isSilent(now: () => number): boolean {
    if (this.#unanswered === 0) return false;
    const limitMs = this.#unanswered >= MIN_UNANSWERED
      ? this.limitMs
      : this.#loneLimitMs;
    return limitMs < Infinity && now() - this.#since >= limitMs;
  }

  /** An endpoint with the fewest requests gets the next one only after the one that waits there is given up. */
  get #loneLimitMs(): number {
    return this.#times < MIN_TIMES
      ? Infinity
      : Math.max(MIN_LONE_MS, LONE_FACTOR * this.#usualMs);
  }

  /** Time after which requests without a response make a silence. */
  get limitMs(): number {
    const minMs = this.#times < MIN_TIMES ? this.#unknownMs : MIN_MS;
    return Math.max(minMs, USUAL_FACTOR * this.#usualMs);
  }
}

/** Reports whether the time to the response of a request is that of the upstream, and not that of the client that uploads. */
export function isPrompt(
  { body, upgrade }: Pick<RequestMessage, "body" | "upgrade">,
): boolean {
  return upgrade === undefined &&
    (body === undefined || (body.length ?? Infinity) <= MAX_BODY_BYTES);
}
