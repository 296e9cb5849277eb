import type { AnswerEvent, AnswerReader } from "./conversation.ts";
import { UntranslatableError } from "./losses.ts";

/** More, or longer ones, no provider accepts. */
const MAX_SEQUENCES = 64;
const MAX_LENGTH = 256;

/**
 * Ends an answer at the first stop sequence, for APIs that have none: the rest is not passed on. The provider generates and bills it.
 * @throws {UntranslatableError} If there are too many of them.
 */
export function stopping(
  reader: AnswerReader,
  sequences: readonly string[],
): AnswerReader {
  const stops = sequences.filter((each) => each !== "");
  if (stops.length === 0) return reader;
  const isLong = stops.some(({ length }) => length > MAX_LENGTH);
  if (isLong || stops.length > MAX_SEQUENCES) {
    throw new UntranslatableError(
      `The model takes at most ${MAX_SEQUENCES} stop sequences of at most ${MAX_LENGTH} characters`,
    );
  }
  const search = new StopSearch(stops);
  const take = (events: readonly AnswerEvent[]) =>
    events.flatMap((event) => search.take(event));
  return {
    whole: (answer) => [...take(reader.whole(answer)), ...search.release()],
    event: (event) => take(reader.event(event)),
    end: () => [...take(reader.end()), ...search.release()],
  };
}

/** Searches the texts of an answer for stop sequences. */
class StopSearch {
  readonly #stops: readonly string[];
  /** The end of the text so far, which may be the beginning of a sequence. */
  #held = "";
  #found: string | undefined;

  constructor(stops: readonly string[]) {
    this.#stops = stops;
  }

  take(event: AnswerEvent): readonly AnswerEvent[] {
    if (event.type === "error" || event.type === "usage") return [event];
    if (this.#found !== undefined) {
      const stopSequence = this.#found;
      return event.type === "finish"
        ? [{ type: "finish", reason: "stop", stopSequence }]
        : [];
    }
    return event.type === "text"
      ? textOf(this.#search(this.#held + event.text))
      : [...this.release(), event];
  }

  /** Returns the text that is held. */
  release(): readonly AnswerEvent[] {
    const text = this.#held;
    this.#held = "";
    return textOf(text);
  }

  /** Returns the part of a text that is before any sequence. */
  #search(text: string): string {
    let end = text.length;
    for (const stop of this.#stops) {
      const at = text.indexOf(stop);
      if (at < 0 || at >= end) continue;
      end = at;
      this.#found = stop;
    }
    if (this.#found === undefined) end -= this.#beginning(text);
    this.#held = this.#found === undefined ? text.slice(end) : "";
    return text.slice(0, end);
  }

  /** Returns the length of the longest end of a text that begins a sequence. */
  #beginning(text: string): number {
    const lengths = this.#stops.map((stop) => {
      let length = Math.min(stop.length - 1, text.length);
      while (!text.endsWith(stop.slice(0, length))) length--;
      return length;
    });
    return Math.max(...lengths);
  }
}

function textOf(text: string): readonly AnswerEvent[] {
  return text === "" ? [] : [{ type: "text", text }];
}
