import type { Clock } from "../../base/clock.ts";
import type { MediaData } from "../../llm/translation/conversation/conversation.ts";

/** A conversation sends its images again in each turn. */
const FRESH_MS = 5 * 60_000;
/** Characters of Base64 in this thread. */
const MAX_LENGTH = 16 * 1024 * 1024;

/** Fetched media of the last minutes, so that the next turn, the next backend and the prompt cache have the same bytes. */
export class MediaCache {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #entries = new Map<
    string,
    { readonly media: MediaData; readonly until: number }
  >();
  #length = 0;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Returns what was fetched from a URL; `undefined` if that is too old. */
  get(url: string): MediaData | undefined {
    const entry = this.#entries.get(url);
    if (entry === undefined) return undefined;
    this.#delete(url);
    if (entry.until <= this.#clock.monotonic()) return undefined;
    this.#add(url, entry);
    return entry.media;
  }

  /** Keeps what was fetched, in place of what was used the longest ago. */
  set(url: string, media: MediaData): void {
    this.#delete(url);
    this.#add(url, { media, until: this.#clock.monotonic() + FRESH_MS });
    for (const oldest of this.#entries.keys()) {
      if (this.#length <= MAX_LENGTH) return;
      this.#delete(oldest);
    }
  }

  #add(
    url: string,
    entry: { readonly media: MediaData; readonly until: number },
  ): void {
    this.#entries.set(url, entry);
    this.#length += url.length + entry.media.data.length;
  }

  #delete(url: string): void {
    const entry = this.#entries.get(url);
    if (entry === undefined) return;
    this.#entries.delete(url);
    this.#length -= url.length + entry.media.data.length;
  }
}
