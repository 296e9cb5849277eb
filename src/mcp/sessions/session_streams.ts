import type { Clock } from "../../base/clock.ts";
import { MessageStream } from "../streams/message_stream.ts";

/** Streams whose events are kept. */
const MAX_STREAMS = 32;
/** Stream of what belongs to no request. */
const NEWS_STREAM = "news";

/** The event streams of a session, by name. */
export class SessionStreams {
  readonly #streams = new Map<string, MessageStream>();
  readonly #clock: Clock;
  readonly #primes: boolean;
  #count = 0;

  /** @param primes See `MessageStream`. */
  constructor(clock: Clock, primes: boolean) {
    this.#clock = clock;
    this.#primes = primes;
  }

  /** True while a client reads one of them. */
  get isConnected(): boolean {
    return this.#streams.values().some(({ isConnected }) => isConnected);
  }

  /** Creates the stream of a request; the oldest that are over are forgotten. */
  create(): MessageStream {
    const name = String(++this.#count);
    const stream = this.#create(name, () => {});
    this.#streams.set(name, stream);
    for (const [key, old] of this.#streams) {
      if (this.#streams.size <= MAX_STREAMS) break;
      if (!old.isOver) continue;
      old.forget();
      this.#streams.delete(key);
    }
    return stream;
  }

  /** Returns the stream of a request; `undefined` for one that is forgotten. */
  ofRequest(name: string): MessageStream | undefined {
    return this.#streams.get(name);
  }

  /** Returns the stream of what belongs to no request. @param onLeave Called when its client leaves. */
  news(onLeave: () => void): MessageStream {
    return this.#streams.getOrInsertComputed(
      NEWS_STREAM,
      () => this.#create(NEWS_STREAM, onLeave),
    );
  }

  endNews(): void {
    this.#streams.get(NEWS_STREAM)?.end();
  }

  /** Ends and forgets all of them. */
  close(): void {
    for (const stream of this.#streams.values()) {
      stream.end();
      stream.forget();
    }
  }

  #create(name: string, onLeave: () => void): MessageStream {
    return new MessageStream({
      clock: this.#clock,
      name,
      primes: this.#primes,
      onLeave,
    });
  }
}

/** Reports whether a name is that of the stream of what belongs to no request. */
export function isNewsStream(name: string): boolean {
  return name === NEWS_STREAM;
}
