import type { TraceEvent } from "./trace_event.ts";

/** Concurrent watchers; more are rejected. */
export const MAX_WATCHERS = 100;

/** Events buffered for a reader; more are dropped and counted. */
const MAX_EVENTS = 512;
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** State of a watcher. */
export interface WatcherState {
  /** True while a request is traced. */
  readonly isBusy: boolean;
  /** Requests still to trace. */
  readonly left: number;
  /** Events buffered for the reader. */
  readonly events: number;
}

/** Selects requests of type `R`. */
export interface Watching<R> {
  /** An error ends the stream. */
  readonly wants: (request: R) => boolean;
  /** Number of requests, one after the other. */
  readonly count: number;
  /** Watchers of one group share the requests: each request goes to one of them. */
  readonly group?: string | undefined;
  /** Coordinates watchers of several threads that trace as one. */
  readonly turns?: TraceTurns | undefined;
  /** Runs when the stream ends. */
  readonly onEnd?: () => void;
}

/** Turns of several threads to trace a request. */
export interface TraceTurns {
  /** Takes the turn; returns false while another thread has it, or when there is none left. */
  take(): boolean;
  /** Ends the turn, as the request has finished. */
  end(): void;
}

/** Traces, event by event; ends with the last request, and throws the error of `wants`. */
export interface TraceStream extends AsyncIterable<TraceEvent> {
  /** Ends the stream, also while a request is under way. */
  stop(): void;
}

/**
 * Watchers that wait for a request to trace. A request goes to all watchers that want it; of a group, to the first in line.
 */
export class TraceWatchers<R> {
  readonly #watchers = new Set<Watcher<R>>();

  /** Returns whether a request may have to be traced. */
  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  /** Adds a watcher; returns `undefined` when there are too many. */
  watch(watching: Watching<R>): TraceStream | undefined {
    if (this.#watchers.size >= MAX_WATCHERS) return undefined;
    const watcher = new Watcher(
      watching,
      () => this.#watchers.delete(watcher),
    );
    this.#watchers.add(watcher);
    return watcher;
  }

  /** Returns the receiver of the events of a request, for all watchers that want it; `undefined` when none does. */
  take(request: R): ((event: TraceEvent) => void) | undefined {
    const groups = new Set<string>();
    const receivers: ((event: TraceEvent) => void)[] = [];
    for (const watcher of [...this.#watchers]) {
      const { group } = watcher;
      if (group !== undefined && groups.has(group)) continue;
      if (!watcher.wants(request)) continue;
      if (group !== undefined) groups.add(group);
      receivers.push(watcher.take());
    }
    const [first, ...others] = receivers;
    if (first === undefined || others.length === 0) return first;
    return (event) => {
      for (const receive of receivers) receive(event);
    };
  }

  /** Lists the watchers; at most 100. */
  describe(): readonly WatcherState[] {
    return [...this.#watchers].map((watcher) => watcher.describe());
  }

  /** Ends the streams that wait for a request; the others end with their request. */
  stopAccepting(): void {
    for (const watcher of this.#watchers) watcher.stopAccepting();
  }

  /** Ends all streams. */
  close(): void {
    for (const watcher of this.#watchers) watcher.stop();
  }
}

class Watcher<R> implements TraceStream {
  readonly #watching: Watching<R>;
  readonly #leave: () => void;
  readonly #buffer: { event: TraceEvent; size: number }[] = [];
  #characters = 0;
  #dropped = 0;
  #left: number;
  /** True while a request is in progress. */
  #isBusy = false;
  #isOver = false;
  #failure: unknown;
  #wake: (() => void) | undefined;

  constructor(watching: Watching<R>, leave: () => void) {
    this.#watching = watching;
    this.#left = watching.count;
    this.#leave = leave;
  }

  get group(): string | undefined {
    return this.#watching.group;
  }

  describe(): WatcherState {
    const { length: events } = this.#buffer;
    return { isBusy: this.#isBusy, left: this.#left, events };
  }

  wants(request: R): boolean {
    if (this.#isBusy) return false;
    const { wants, turns } = this.#watching;
    try {
      return wants(request) && (turns === undefined || turns.take());
    } catch (error) {
      this.#failure = error;
      this.#end();
      return false;
    }
  }

  take(): (event: TraceEvent) => void {
    this.#isBusy = true;
    this.#left--;
    return (event) => {
      if (this.#isOver) return;
      const isLast = event.message.type === "requestFinished";
      this.#push(event, isLast);
      if (!isLast) return;
      this.#isBusy = false;
      this.#watching.turns?.end();
      if (this.#left === 0) this.#end();
    };
  }

  stopAccepting(): void {
    if (this.#isBusy) this.#left = 0;
    else this.#end();
  }

  stop(): void {
    this.#buffer.length = 0;
    this.#end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TraceEvent> {
    try {
      for (;;) {
        const next = this.#buffer.shift();
        if (next !== undefined) {
          this.#characters -= next.size;
          yield next.event;
        } else if (this.#failure !== undefined) throw this.#failure;
        else if (this.#isOver) return;
        else await new Promise<void>((resolve) => this.#wake = resolve);
      }
    } finally {
      this.stop();
    }
  }

  /** @param isLast The last event is never dropped. */
  #push(event: TraceEvent, isLast: boolean): void {
    const size = sizeOf(event);
    const isFull = this.#buffer.length >= MAX_EVENTS ||
      this.#characters + size > MAX_CHARACTERS;
    if (isFull && !isLast) {
      this.#dropped++;
      return;
    }
    if (this.#dropped > 0) {
      const message = { type: "eventsDropped", count: this.#dropped } as const;
      this.#add({ ...event, eventStart: null, severity: "warn", message }, 0);
      this.#dropped = 0;
    }
    this.#add(event, size);
  }

  #add(event: TraceEvent, size: number): void {
    this.#buffer.push({ event, size });
    this.#characters += size;
    this.#wakeReader();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#leave();
    this.#watching.onEnd?.();
    this.#wakeReader();
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

function sizeOf({ message }: TraceEvent): number {
  return message.type === "bodySnapshot"
    ? message.body.length
    : JSON.stringify(message).length;
}
