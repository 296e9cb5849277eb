import type { Clock } from "../../base/clock.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { type Body, BytesBody } from "../../http/body.ts";
import { EVENT_END, EventQueue, eventStart } from "./event_queue.ts";

/** Events that a client can catch up with. */
const MAX_KEPT_EVENTS = 256;
const MAX_KEPT_LENGTH = 1024 * 1024;
/** Length of the events that all streams of a thread keep. */
const MAX_KEPT_BY_ALL = 64 * 1024 * 1024;
/** Length that stands for the memory of an event besides its text. */
const EVENT_OVERHEAD = 128;
const RETRY_MS = 1000;

/** Options of a stream. */
export interface StreamOptions {
  readonly clock: Clock;
  /** Names the stream in the ids of its events; `undefined` for a stream that cannot be resumed. */
  readonly name: string | undefined;
  /** True if the client reads an id before the first message, so that it can resume a stream that had none yet. */
  readonly primes: boolean;
  /** Called when the client goes before the end. */
  onLeave(): void;
}

interface KeptEvent {
  readonly id: number;
  readonly text: string;
}

const decoder = new TextDecoder();

/** Messages to a client that may lose its connection, and come back for what it has missed (MCP 2025-11-25, "Transports"). */
export class MessageStream {
  readonly #options: StreamOptions;
  #events: KeptEvent[] = [];
  #kept = 0;
  #lastId = 0;
  #queue: EventQueue | undefined;
  #isOver = false;

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  /** True if the client receives the messages now. */
  get isConnected(): boolean {
    return this.#queue !== undefined;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Returns the response to a request whose answer is the only message, as `connect`, `send` and `end` would.
   * @param write Writes the answer between two texts.
   */
  deliver(
    write: (before: string, after: string) => Uint8Array,
  ): ResponseMessage {
    const { name, primes } = this.#options;
    const id = this.#idOf(++this.#lastId);
    const before = name !== undefined && primes ? this.#primer() : "";
    const start = before + eventStart(id);
    const bytes = write(start, EVENT_END);
    this.#isOver = true;
    if (name !== undefined) {
      const answer = bytes.subarray(start.length, -EVENT_END.length);
      this.#keep({ id: this.#lastId, text: decoder.decode(answer) });
    }
    return eventsResponse(new BytesBody(bytes));
  }

  /** Sends a message. */
  send(text: string): void {
    if (this.#isOver) return;
    const id = ++this.#lastId;
    this.#queue?.write(text, this.#idOf(id));
    if (this.#options.name !== undefined) this.#keep({ id, text });
  }

  #keep(event: KeptEvent): void {
    this.#events.push(event);
    this.#kept += lengthOf(event.text);
    while (
      this.#events.length > MAX_KEPT_EVENTS || this.#kept > MAX_KEPT_LENGTH
    ) {
      this.#kept -= lengthOf(this.#events.shift()?.text ?? "");
    }
    keptEvents.record(this, this.#kept);
  }

  /** Forgets what it has sent: nobody can catch up with it any more. */
  forget(): void {
    this.#events = [];
    this.#kept = 0;
    keptEvents.record(this, 0);
  }

  /** Ends the stream; what it has sent can still be caught up with. */
  end(): void {
    this.#isOver = true;
    this.#queue?.end();
    this.#queue = undefined;
  }

  /**
   * Returns the response with which the client receives the messages from now on.
   * @param after Id of the last event that it has; `undefined` at the beginning.
   */
  connect(after?: number): ResponseMessage {
    const { clock, name, primes } = this.#options;
    this.#queue?.end();
    const queue = new EventQueue(clock, () => {
      if (this.#queue === queue) this.#queue = undefined;
      this.#options.onLeave();
    });
    if (after === undefined && name !== undefined && primes) {
      queue.writeRaw(this.#primer());
    }
    for (const { id, text } of this.#events) {
      if (after !== undefined && id > after) queue.write(text, this.#idOf(id));
    }
    if (this.#isOver) queue.end();
    else this.#queue = queue;
    return eventsResponse(queue);
  }

  #primer(): string {
    return `id: ${this.#idOf(0)}\nretry: ${RETRY_MS}\ndata: \n\n`;
  }

  #idOf(id: number): string | undefined {
    const { name } = this.#options;
    return name === undefined ? undefined : `${name}-${id}`;
  }
}

/** Bounds what streams keep: beyond the limit, those that have been silent for longest forget it. */
class KeptEvents {
  readonly #lengths = new Map<MessageStream, number>();
  #total = 0;

  /** Records the length of the events that a stream keeps now. */
  record(stream: MessageStream, length: number): void {
    this.#total += length - (this.#lengths.get(stream) ?? 0);
    this.#lengths.delete(stream);
    if (length > 0) this.#lengths.set(stream, length);
    const [oldest] = this.#lengths.keys();
    if (this.#total > MAX_KEPT_BY_ALL) oldest?.forget();
  }
}

const keptEvents = new KeptEvents();

function lengthOf(text: string): number {
  return text.length + EVENT_OVERHEAD;
}

function eventsResponse(body: Body): ResponseMessage {
  const headers = new HeaderList([
    "content-type",
    "text/event-stream",
    "cache-control",
    "no-cache, no-transform",
    "x-accel-buffering",
    "no",
  ]);
  return { status: 200, headers, body };
}

/** Reads the id of an event, such as `3-7`. */
export function readEventId(
  text: string,
): { readonly stream: string; readonly id: number } | undefined {
  const [, stream, id] = /^([\w]{1,64})-(\d{1,12})$/.exec(text) ?? [];
  return stream === undefined ? undefined : { stream, id: Number(id) };
}
