import { describeError } from "../../base/errors.ts";
import type { TraceStream } from "../../telemetry/trace/trace_watchers.ts";
import type { LocalDataPlane } from "../local_data_plane.ts";
import type { Channel } from "../state/channel.ts";
import type { ControlCalls, Watch, WorkerCalls } from "./protocol.ts";
import { SharedTurns } from "./shared_turns.ts";

/** Dependencies of the traces of a worker. */
export interface WorkerTracesOptions {
  readonly dataPlane: LocalDataPlane;
  readonly control: Pick<Channel<ControlCalls, WorkerCalls>, "notify">;
  /** Number of this worker. */
  readonly worker: number;
  /** Memory of the turns. */
  readonly turns: SharedArrayBuffer;
}

/** Traces requests of this worker for the control thread. */
export class WorkerTraces {
  readonly #options: WorkerTracesOptions;
  readonly #streams = new Map<number, TraceStream>();

  constructor(options: WorkerTracesOptions) {
    this.#options = options;
  }

  /** Starts a watch. @throws {Error} When it is not possible. */
  async watch({ id, place, ...query }: Watch): Promise<void> {
    const { dataPlane, worker, turns: memory } = this.#options;
    const taken: number[] = [];
    const turns = new SharedTurns(
      memory,
      place,
      worker,
      (turn) => taken.push(turn),
    );
    // The turns are counted, in all workers together.
    const count = Number.MAX_SAFE_INTEGER;
    const answer = await dataPlane.traceNext({ ...query, count }, turns);
    if ("rejection" in answer) throw new Error(answer.message);
    this.#streams.set(id, answer.stream);
    void this.#passOn(id, answer.stream, taken);
  }

  /** Traces for these watches, and ends others. */
  async watchOnly(watches: readonly Watch[]): Promise<void> {
    const wanted = new Set(watches.map(({ id }) => id));
    for (const id of this.#streams.keys()) {
      if (!wanted.has(id)) this.unwatch(id);
    }
    for (const watch of watches) {
      if (!this.#streams.has(watch.id)) await this.watch(watch);
    }
  }

  unwatch(id: number): void {
    this.#streams.get(id)?.stop();
  }

  /** @param taken Turns of this worker, in order. */
  async #passOn(
    id: number,
    stream: TraceStream,
    taken: number[],
  ): Promise<void> {
    const { control } = this.#options;
    try {
      for await (const event of stream) {
        control.notify("traced", id, taken[0] ?? 0, event);
        if (event.message.type === "requestFinished") taken.shift();
      }
    } catch (error) {
      control.notify("traceFailed", id, describeError(error));
    } finally {
      this.#streams.delete(id);
    }
  }
}
