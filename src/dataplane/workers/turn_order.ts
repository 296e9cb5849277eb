import type { TraceEvent } from "../../telemetry/trace/trace_event.ts";

type Emit = (event: TraceEvent) => void;

/** Puts the events of requests that several workers traced in the order of their turns. */
export class TurnOrder {
  readonly #begin: () => Emit | undefined;
  /** Events of turns that came too early. */
  readonly #early = new Map<number, TraceEvent[]>();
  #turn = 0;
  #emit: Emit | undefined;
  /** Time of the last event, as in `TraceEvent`. */
  #lastEvent = 0;

  /** @param begin Begins a request; returns the receiver of its events, unless nobody wants them any more. */
  constructor(begin: () => Emit | undefined) {
    this.#begin = begin;
  }

  /** Adds an event of a turn; those of one turn come in order. */
  add(turn: number, event: TraceEvent): void {
    if (turn > this.#turn) {
      this.#early.getOrInsertComputed(turn, () => []).push(event);
      return;
    }
    // Of a turn that was skipped: its rest would look like a part of another request.
    if (turn < this.#turn) return;
    this.#emit ??= this.#begin();
    this.#emit?.(event);
    this.#lastEvent = event.eventEnd;
    if (event.message.type === "requestFinished") this.#next();
  }

  /** Ends the turns before `turn` as cut; returns the number of those that had no event yet. */
  skipTo(turn: number): number {
    let unseen = 0;
    while (this.#turn < turn) {
      if (this.#emit === undefined) unseen++;
      else this.#emit(cutRequest(this.#lastEvent));
      this.#next();
    }
    return unseen;
  }

  #next(): void {
    this.#turn++;
    this.#emit = undefined;
    const events = this.#early.get(this.#turn) ?? [];
    this.#early.delete(this.#turn);
    for (const event of events) this.add(this.#turn, event);
  }
}

/** Creates the last event of a request whose worker has ended. */
function cutRequest(eventEnd: number): TraceEvent {
  return {
    eventStart: null,
    eventEnd,
    severity: "error",
    message: {
      type: "requestFinished",
      status: null,
      error: "The worker that handled the request has ended",
    },
  };
}
