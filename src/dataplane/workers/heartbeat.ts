import type { Clock } from "../../base/clock.ts";

/** Default time between two looks at the heartbeats. */
const LOOK_MS = 1000;
/** Looks without a heartbeat after which a worker is silent. */
const SILENT_LOOKS = 5;
/** Looks without a heartbeat after which nothing can help it. */
const LOST_LOOKS = 30;
/** Looks until the first heartbeat of a worker that starts. */
const START_LOOKS = 60;

/** Memory in which workers count their heartbeats. */
export interface HeartbeatMemory {
  readonly buffer: SharedArrayBuffer;
  /** Milliseconds between two looks at it. */
  readonly lookMs: number;
}

/** Creates the memory for a number of workers. */
export function createHeartbeats(
  workers: number,
  lookMs = LOOK_MS,
): HeartbeatMemory {
  const buffer = new SharedArrayBuffer(workers * Int32Array.BYTES_PER_ELEMENT);
  return { buffer, lookMs };
}

/** Counts a heartbeat twice per look, as long as the event loop of this worker turns. */
export function startHeartbeat(
  { buffer, lookMs }: HeartbeatMemory,
  worker: number,
  clock: Clock,
): void {
  const beats = new Int32Array(buffer);
  const beat = () => {
    Atomics.add(beats, worker - 1, 1);
    clock.setTimer(beat, lookMs / 2);
  };
  beat();
}

/** Events of a worker that is watched. */
export interface HeartbeatListener {
  /** Called when a worker that has started has had no heartbeat for `seconds`. */
  onSilent(worker: number, seconds: number): void;
  /** Called when a silent worker has heartbeats again. */
  onBeat(worker: number): void;
  /** Called when a silent worker stays silent. */
  onLost(worker: number, seconds: number): void;
  /** Called when a worker does not start. */
  onNotStarted(worker: number, seconds: number): void;
}

interface Watched {
  seen: number;
  /** Looks since the last heartbeat: a pause of the whole process is one. */
  looks: number;
  hasStarted: boolean;
}

/** Watches the heartbeats of workers: Deno cannot interrupt a thread that never returns to its event loop. */
export class HeartbeatMonitor {
  readonly #beats: Int32Array;
  readonly #lookMs: number;
  readonly #clock: Clock;
  readonly #listener: HeartbeatListener;
  readonly #watched = new Map<number, Watched>();
  #cancelTimer = () => {};

  constructor(
    { buffer, lookMs }: HeartbeatMemory,
    clock: Clock,
    listener: HeartbeatListener,
  ) {
    this.#beats = new Int32Array(buffer);
    this.#lookMs = lookMs;
    this.#clock = clock;
    this.#listener = listener;
    this.#lookLater();
  }

  /** Watches a worker that starts. */
  watch(worker: number): void {
    const seen = this.#beatsOf(worker);
    this.#watched.set(worker, { seen, looks: 0, hasStarted: false });
  }

  /** Ends the watch of a worker that has ended. */
  unwatch(worker: number): void {
    this.#watched.delete(worker);
  }

  /** Ends all watches. */
  close(): void {
    this.#cancelTimer();
  }

  #lookLater(): void {
    this.#cancelTimer = this.#clock.setTimer(() => {
      for (const [worker, watched] of this.#watched) {
        this.#look(worker, watched);
      }
      this.#lookLater();
    }, this.#lookMs);
  }

  #look(worker: number, watched: Watched): void {
    const beats = this.#beatsOf(worker);
    if (beats !== watched.seen) {
      if (watched.looks >= SILENT_LOOKS && watched.hasStarted) {
        this.#listener.onBeat(worker);
      }
      Object.assign(watched, { seen: beats, looks: 0, hasStarted: true });
      return;
    }
    const looks = ++watched.looks;
    const seconds = looks * this.#lookMs / 1000;
    if (!watched.hasStarted) {
      if (looks === START_LOOKS) this.#listener.onNotStarted(worker, seconds);
    } else if (looks === SILENT_LOOKS) {
      this.#listener.onSilent(worker, seconds);
    } else if (looks === LOST_LOOKS) {
      this.#listener.onLost(worker, seconds);
    }
  }

  #beatsOf(worker: number): number {
    return Atomics.load(this.#beats, worker - 1);
  }
}
