import { describeError } from "../../base/errors.ts";
import type { TraceEvent } from "../../telemetry/trace/trace_event.ts";
import {
  MAX_WATCHERS,
  TraceWatchers,
  type WatcherState,
} from "../../telemetry/trace/trace_watchers.ts";
import type { TraceAnswer, TraceQuery } from "../calls/debugging.ts";
import { compileFilter, tooManyWatchers } from "../calls/debugging.ts";
import type { Watch } from "./protocol.ts";
import { endTurnOf, offerTurns, returnTurns } from "./shared_turns.ts";
import { TurnOrder } from "./turn_order.ts";

/** Dependencies of the watches. */
export interface WorkerWatchesOptions {
  /** Memory of the turns. */
  readonly turns: SharedArrayBuffer;
  /** Starts a watch in all workers. */
  readonly watch: (watch: Watch) => Promise<unknown>;
  /** Ends it. */
  readonly unwatch: (id: number) => Promise<unknown>;
}

/** A trace event for a watch, or the error of its filter. */
interface Turn {
  readonly watch: number;
  readonly failure?: string;
}

/** A watch that is open. */
interface OpenWatch {
  readonly watch: Watch;
  readonly order: TurnOrder;
}

/** Traces the next requests, whichever worker handles them, as one stream: request after request, in the order of their turns. */
export class WorkerWatches {
  readonly #options: WorkerWatchesOptions;
  readonly #watchers = new TraceWatchers<Turn>();
  readonly #open = new Map<number, OpenWatch>();
  readonly #freePlaces = Array.from({ length: MAX_WATCHERS }, (_, at) => at);
  #lastId = 0;

  constructor(options: WorkerWatchesOptions) {
    this.#options = options;
  }

  async traceNext(
    { count = 1, ...query }: TraceQuery,
  ): Promise<TraceAnswer> {
    try {
      if (query.filter !== undefined) await compileFilter(query.filter);
    } catch (error) {
      return { rejection: "filter", message: describeError(error) };
    }
    const place = this.#freePlaces.pop();
    if (place === undefined) return tooManyWatchers;
    const id = ++this.#lastId;
    const watch = { ...query, id, place };
    offerTurns(this.#options.turns, place, count);
    const stream = this.#watchers.watch({
      count,
      wants: ({ watch, failure }) => {
        if (watch !== id) return false;
        if (failure !== undefined) throw new Error(failure);
        return true;
      },
      onEnd: () => void this.#close(watch),
    });
    if (stream === undefined) {
      this.#freePlaces.push(place);
      return tooManyWatchers;
    }
    const order = new TurnOrder(() => this.#watchers.take({ watch: id }));
    this.#open.set(id, { watch, order });
    await this.#options.watch(watch);
    return { stream };
  }

  /** Lists the watches, for a worker that starts. */
  watches(): readonly Watch[] {
    return [...this.#open.values()].map(({ watch }) => watch);
  }

  /** Receives an event of a worker. */
  traced(id: number, turn: number, event: TraceEvent): void {
    this.#open.get(id)?.order.add(turn, event);
  }

  /** Ends a watch whose filter has thrown. */
  failed(id: number, failure: string): void {
    this.#watchers.take({ watch: id, failure });
  }

  /** Goes on without the requests that a worker was tracing when it ended. */
  workerEnded(worker: number): void {
    const { turns } = this.#options;
    for (const { watch: { place }, order } of [...this.#open.values()]) {
      const unseen = order.skipTo(endTurnOf(turns, place, worker));
      returnTurns(turns, place, unseen);
    }
  }

  describe(): readonly WatcherState[] {
    return this.#watchers.describe();
  }

  /** Ends the streams that wait for a request. */
  stopAccepting(): void {
    this.#watchers.stopAccepting();
  }

  /** Ends all streams. */
  close(): void {
    this.#watchers.close();
  }

  async #close({ id, place }: Watch): Promise<void> {
    this.#open.delete(id);
    try {
      await this.#options.unwatch(id);
    } finally {
      this.#freePlaces.push(place);
    }
  }
}
