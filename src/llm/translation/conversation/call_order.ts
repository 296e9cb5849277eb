import { unknownForm } from "./answer_fields.ts";
import type { AnswerEvent } from "./conversation.ts";

type CallStart = Extract<AnswerEvent, { type: "toolCall" }>;

/** A provider that streams more of later parts before the first one is complete, is not waited for. */
const MAX_HELD_LENGTH = 1024 * 1024;
const MAX_CALLS = 4096;
/** Length that an event counts as, beside its text. */
const EVENT_LENGTH = 64;

/** A part of an answer: a call, or an event beside calls. */
interface Item {
  readonly isComplete: boolean;
  /** Returns the events so far. */
  write(): readonly AnswerEvent[];
}

/**
 * Puts the parts of a streamed answer one after another, where a provider streams the inputs of several calls at the same time. The
 * first call that is not complete passes as it comes; what belongs behind it is held until then.
 */
export class CallOrder {
  readonly #calls = new Map<number, Call>();
  /** The first item is written as it comes. */
  readonly #items: Item[] = [];
  #heldLength = 0;

  /** Begins a call. @param key Names it among the calls that are not complete. */
  begin(key: number, start: CallStart): readonly AnswerEvent[] {
    this.#calls.get(key)?.end();
    if (this.#calls.size >= MAX_CALLS) throw unknownForm("too many calls");
    const call = new Call(start);
    this.#calls.set(key, call);
    return this.#add(call, 0);
  }

  /**
   * Adds the next characters of a call's input.
   * @throws {UnknownAnswerError} If the call has not begun, or was complete.
   */
  input(key: number, json: string): readonly AnswerEvent[] {
    if (json === "") return [];
    const call = this.#calls.get(key);
    if (call === undefined) throw unknownForm("input of an unknown call");
    call.push(json);
    if (call === this.#items[0]) {
      return [{ type: "toolInput", json }, ...this.#advance()];
    }
    if (!call.isWritten) this.#hold(json.length);
    else if (json.trim() !== "") throw unknownForm("more input of a call");
    return [];
  }

  /** Ends a call; does nothing for other keys. */
  end(key: number): readonly AnswerEvent[] {
    this.#calls.get(key)?.end();
    return this.#advance();
  }

  /** Adds an event beside calls, such as text. */
  pass(event: AnswerEvent): readonly AnswerEvent[] {
    const [first] = this.#items;
    if (this.#items.length === 1 && first?.isComplete) this.#items.shift();
    if (this.#items.length === 0) return [event];
    const item = { isComplete: true, write: () => [event] };
    return this.#add(item, "text" in event ? event.text.length : 0);
  }

  /** Returns what is held, when all calls are complete. */
  finish(): readonly AnswerEvent[] {
    for (const call of this.#calls.values()) call.end();
    return this.#advance();
  }

  #add(item: Item, length: number): readonly AnswerEvent[] {
    this.#items.push(item);
    if (this.#items.length === 1) return item.write();
    const events = this.#advance();
    if (this.#items.length === 1) return events;
    this.#hold(EVENT_LENGTH + length);
    return events;
  }

  #hold(length: number): void {
    this.#heldLength += length;
    if (this.#heldLength > MAX_HELD_LENGTH) {
      throw unknownForm("calls that are too long at the same time");
    }
  }

  #advance(): readonly AnswerEvent[] {
    const events: AnswerEvent[] = [];
    while (this.#items.length > 1 && this.#items[0]?.isComplete) {
      this.#items.shift();
      events.push(...this.#items[0]?.write() ?? []);
    }
    if (this.#items.length <= 1) this.#heldLength = 0;
    return events;
  }
}

/** A call whose input is streamed. */
class Call implements Item {
  readonly #start: CallStart;
  #held = "";
  isComplete = false;
  isWritten = false;
  #depth = 0;
  #inString = false;
  #isEscaped = false;

  constructor(start: CallStart) {
    this.#start = start;
  }

  end(): void {
    this.isComplete = true;
  }

  push(json: string): void {
    if (!this.isWritten) this.#held += json;
    for (const char of this.isComplete ? "" : json) this.#take(char);
  }

  write(): readonly AnswerEvent[] {
    this.isWritten = true;
    const json = this.#held;
    this.#held = "";
    return json === ""
      ? [this.#start]
      : [this.#start, { type: "toolInput", json }];
  }

  /** Finds the end of the JSON object. */
  #take(char: string): void {
    if (this.#inString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (char === "\\") this.#isEscaped = true;
      else if (char === '"') this.#inString = false;
    } else if (char === '"') this.#inString = true;
    else if (char === "{" || char === "[") this.#depth++;
    else if ((char === "}" || char === "]") && --this.#depth === 0) this.end();
  }
}
