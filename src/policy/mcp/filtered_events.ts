import { Buffer } from "node:buffer";
import { GatewayError } from "../../base/errors.ts";
import { JsonProblem } from "../../base/json/json_ambiguity.ts";
import { firstKind, KIND } from "../../base/json/json_tokens.ts";
import { yieldToEventLoop } from "../../base/slices.ts";
import type { Body } from "../../http/body.ts";
import type { HeaderList } from "../../http/header_list.ts";
import {
  eventsOf,
  EventStream,
  readEvent,
} from "../../base/wire/event_stream.ts";

/** Options of `FilteredEvents`. */
export interface EventFilter {
  /** Returns the data of an event as the client is to see it, `undefined` to drop it; throws a `JsonProblem` for what it cannot read. */
  filter(data: Uint8Array): Promise<Uint8Array | undefined>;
  /** Longer events fail. */
  readonly maxBytes: number;
  /** Returns a last event for the client; `undefined` cuts the stream off. */
  onFailure(error: GatewayError): Uint8Array | undefined;
}

/** So many events are filtered at a time. */
const EVENTS_PER_SLICE = 256;

/** A stream of server-sent events whose messages are filtered, one event at a time; other events pass as they are. */
export class FilteredEvents implements Body {
  readonly length = undefined;
  readonly #source: Body;
  readonly #options: EventFilter;
  readonly #stream = new EventStream();
  #isOver = false;
  #hasFailed = false;
  /** Thrown after the last event has passed. */
  #failure: GatewayError | undefined;
  #filtered = 0;

  constructor(source: Body, options: EventFilter) {
    this.#source = source;
    this.#options = options;
  }

  get trailers(): HeaderList | undefined {
    return this.#source.trailers;
  }

  async read(): Promise<Uint8Array | undefined> {
    while (!this.#isOver) {
      const events = await this.#readEvents();
      if (events.length > 0) return events;
    }
    if (this.#failure !== undefined) throw this.#failure;
    return undefined;
  }

  cancel(reason: unknown): void {
    this.#isOver = true;
    this.#source.cancel(reason);
  }

  /** Reads a chunk, and returns the events that are complete with it. */
  async #readEvents(): Promise<Uint8Array> {
    const stream = this.#stream;
    const chunk = await this.#source.read();
    if (chunk === undefined) {
      this.#isOver = true;
      // Some clients read an event that nothing ends.
      return await this.#filter([stream.finish()]);
    }
    const passed = await this.#filter(stream.push(chunk));
    const isLong = stream.pending > this.#options.maxBytes;
    if (this.#hasFailed || !isLong) return passed;
    return Buffer.concat([passed, this.#failLong()]);
  }

  /** Filters complete events; those before one that fails still pass. */
  async #filter(parts: readonly Uint8Array[]): Promise<Uint8Array> {
    const passed: Uint8Array[] = [];
    for (const part of parts) {
      for (const event of eventsOf(part)) {
        if (this.#hasFailed) break;
        passed.push(await this.#filterEvent(event));
        if (++this.#filtered % EVENTS_PER_SLICE === 0) await yieldToEventLoop();
      }
    }
    return Buffer.concat(passed);
  }

  async #filterEvent(event: Uint8Array): Promise<Uint8Array> {
    if (event.length > this.#options.maxBytes) return this.#failLong();
    const isFirst = this.#filtered === 0;
    const { data, type = "message", replaceData } = readEvent(event, isFirst);
    if (data === undefined) return this.#fail("an event has too many lines");
    if (!isJsonMessage(data)) return event;
    try {
      const filtered = await this.#options.filter(data);
      if (filtered === undefined) return nothing;
      return filtered === data ? event : replaceData(filtered);
    } catch (error) {
      if (!(error instanceof JsonProblem)) throw error;
      // Clients read messages in events without a type of their own.
      if (type !== "message" && !error.isAmbiguous) return event;
      return this.#fail(error.message);
    }
  }

  #failLong(): Uint8Array {
    return this.#fail(
      `an event is longer than ${this.#options.maxBytes} bytes`,
    );
  }

  #fail(problem: string): Uint8Array {
    const error = unreadableList(problem);
    const last = this.#options.onFailure(error);
    if (last === undefined) this.#failure = error;
    this.#hasFailed = true;
    this.#isOver = true;
    this.#source.cancel(error);
    return last ?? nothing;
  }
}

/** Reports whether data may be a JSON-RPC message or a batch; a path, as in `event: endpoint`, and other text are none. */
function isJsonMessage(data: Uint8Array): boolean {
  const kind = firstKind(data);
  return kind === KIND.OPEN_OBJECT || kind === KIND.OPEN_LIST;
}

const nothing = new Uint8Array();

/** The error for a list that cannot be filtered, so that no client gets it. */
export function unreadableList(problem: string): GatewayError {
  return new GatewayError(
    "list_unreadable",
    "upstream",
    `Cannot filter the list of the MCP server: ${problem}`,
  );
}
