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
  const parser = new EventParser();
  let pending = "";
  let isOver = false;
  try {
    while (!isOver) {
      const chunk = await body.read();
      isOver = chunk === undefined;
      pending += decoder.decode(chunk, { stream: !isOver });
      const lines = splitLines(pending, isOver);
      pending = lines.pop() ?? "";
      for (const line of lines) {
        const event = parser.add(line);
        if (event !== undefined) yield event;
      }
      if (pending.length + parser.length > maxLength) {
        throw new LongEvent(`An event is longer than ${maxLength} characters`);
      }
    }
  } finally {
    if (!isOver) body.cancel("left");
  }
}

/** Splits at line ends; the last part is not complete. A CR at the end may be half of a CRLF. */
function splitLines(text: string, isOver: boolean): string[] {
  if (isOver || !text.endsWith("\r")) return text.split(/\r\n|\n|\r/);
  const lines = text.slice(0, -1).split(/\r\n|\n|\r/);
  lines.push(`${lines.pop() ?? ""}\r`);
  return lines;
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
