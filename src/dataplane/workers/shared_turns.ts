import {
  MAX_WATCHERS,
  type TraceTurns,
} from "../../telemetry/trace/trace_watchers.ts";

/** Worker that has the turn; 0 for none. */
const OWNER = 0;
/** Turns left. */
const LEFT = 1;
/** Turns taken. */
const TAKEN = 2;
const WORDS = 3;

/** Creates memory for the turns of all watchers. */
export function createTraceTurns(): SharedArrayBuffer {
  return new SharedArrayBuffer(
    MAX_WATCHERS * WORDS * Int32Array.BYTES_PER_ELEMENT,
  );
}

/**
 * Turns of workers to trace a request for one watcher, in shared memory: a request goes to the worker that takes the turn, and
 * the number of requests is exact.
 */
export class SharedTurns implements TraceTurns {
  readonly #words: Int32Array;
  readonly #worker: number;
  readonly #onTaken: (turn: number) => void;

  /**
   * @param place From 0 to `MAX_WATCHERS`.
   * @param worker From 1.
   * @param onTaken Receives the number of a turn of this worker, from 0.
   */
  constructor(
    memory: SharedArrayBuffer,
    place: number,
    worker: number,
    onTaken: (turn: number) => void,
  ) {
    this.#words = wordsOf(memory, place);
    this.#worker = worker;
    this.#onTaken = onTaken;
  }

  take(): boolean {
    const words = this.#words;
    if (Atomics.compareExchange(words, OWNER, 0, this.#worker) !== 0) {
      return false;
    }
    if (Atomics.load(words, LEFT) === 0) {
      Atomics.store(words, OWNER, 0);
      return false;
    }
    Atomics.sub(words, LEFT, 1);
    this.#onTaken(Atomics.add(words, TAKEN, 1));
    return true;
  }

  end(): void {
    // A worker that did not respond for a while has lost its turn.
    Atomics.compareExchange(this.#words, OWNER, this.#worker, 0);
  }
}

/** Offers turns, before workers know of the place. */
export function offerTurns(
  memory: SharedArrayBuffer,
  place: number,
  count: number,
): void {
  const words = wordsOf(memory, place);
  Atomics.store(words, OWNER, 0);
  Atomics.store(words, TAKEN, 0);
  Atomics.store(words, LEFT, count);
}

/** Ends the turn of a worker that has ended; returns the number of turns taken whose request is not being traced any more. */
export function endTurnOf(
  memory: SharedArrayBuffer,
  place: number,
  worker: number,
): number {
  const words = wordsOf(memory, place);
  const owner = Atomics.compareExchange(words, OWNER, worker, 0);
  const taken = Atomics.load(words, TAKEN);
  return owner === 0 || owner === worker ? taken : taken - 1;
}

/** Offers turns again that were taken and not used. */
export function returnTurns(
  memory: SharedArrayBuffer,
  place: number,
  count: number,
): void {
  Atomics.add(wordsOf(memory, place), LEFT, count);
}

function wordsOf(memory: SharedArrayBuffer, place: number): Int32Array {
  const offset = place * WORDS * Int32Array.BYTES_PER_ELEMENT;
  return new Int32Array(memory, offset, WORDS);
}
