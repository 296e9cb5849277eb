import type { Body } from "../../http/body.ts";

/** A server-sent event (WHATWG HTML, "Server-sent events"). */
export interface ServerEvent {
  /** `message` unless the event says otherwise. */
  readonly type: string;
  readonly data: string;
  /** Id of the last event that had one. */
  readonly lastId: string | undefined;
  /** Time to wait before a client reconnects, once an event has said it. */
  readonly retryMs: number | undefined;
}

/** The stream has an event that is longer than the limit. */
export class LongEvent extends Error {
  override readonly name = "LongEvent";
}

/**
 * Reads the events of a stream, also those without data, and cancels the body when the reader leaves.
 * @throws {LongEvent} For an event of more than `maxLength` characters.
 */
export async function* readEvents(
  body: Body,
  maxLength: number,
): AsyncGenerator<ServerEvent, void> {
  const decoder = new TextDecoder();
  const lines = new LineSplitter();
  const parser = new EventParser();
  let isOver = false;
  try {
    while (!isOver) {
      const chunk = await body.read();
      isOver = chunk === undefined;
      const text = decoder.decode(chunk, { stream: !isOver });
      for (const line of lines.push(text, isOver)) {
        const event = parser.add(line);
        if (event !== undefined) yield event;
      }
      if (lines.pending + parser.length > maxLength) {
        throw new LongEvent(`An event is longer than ${maxLength} characters`);
      }
    }
  } finally {
    if (!isOver) body.cancel("left");
  }
}

/** Splits a text that arrives in parts at line ends, and looks at each part once: a long line may have many. */
class LineSplitter {
  #pending = "";
  #held = "";

  /** Length of the line that is not complete. */
  get pending(): number {
    return this.#pending.length;
  }

  /** Adds a part; returns the lines that are complete with it. */
  push(part: string, isOver: boolean): string[] {
    let text = this.#held + part;
    // A CR at the end may be half of a CRLF.
    this.#held = !isOver && text.endsWith("\r") ? "\r" : "";
    if (this.#held !== "") text = text.slice(0, -1);
    const [first = "", ...others] = text.split(/\r\n|\n|\r/);
    this.#pending += first;
    const last = others.pop();
    if (last === undefined) return [];
    const complete = [this.#pending, ...others];
    this.#pending = last;
    return complete;
  }
}

class EventParser {
  #type = "";
  #data: string[] = [];
  #isEmpty = true;
  #lastId: string | undefined;
  #retryMs: number | undefined;
  length = 0;

  /** Adds a line; returns the event that it ends. */
  add(line: string): ServerEvent | undefined {
    if (line === "") return this.#end();
    this.length += line.length;
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    switch (name) {
      case "event":
        this.#type = value;
        break;
      case "data":
        this.#data.push(value);
        break;
      case "id":
        if (!value.includes("\0")) this.#lastId = value;
        break;
      case "retry":
        if (/^\d{1,9}$/.test(value)) this.#retryMs = Number(value);
        break;
      default:
        return undefined;
    }
    this.#isEmpty = false;
    return undefined;
  }

  #end(): ServerEvent | undefined {
    const event = this.#isEmpty ? undefined : {
      type: this.#type || "message",
      data: this.#data.join("\n"),
      lastId: this.#lastId,
      retryMs: this.#retryMs,
    };
    this.#type = "";
    this.#data = [];
    this.#isEmpty = true;
    this.length = 0;
    return event;
  }
}
