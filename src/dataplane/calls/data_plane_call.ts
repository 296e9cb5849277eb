import type { CallingThread, TrafficThread } from "./traffic_thread.ts";

/** The result of one thread. */
export interface ThreadResult<Part> {
  /** Number of the worker, from 1; `undefined` without workers. */
  readonly worker: number | undefined;
  readonly part: Part;
}

/** A call of the threads that carry traffic: arguments and results are plain data. */
export interface DataPlaneCall<Args extends readonly unknown[], Part, Result> {
  /** The threads that it needs; default `all`. */
  readonly threads?: "all" | "one" | "none";
  /** True if all threads first count the responses that clients have received, and report their traffic. */
  readonly settles?: boolean;
  /** Runs in the calling thread before the others are called. */
  before?(caller: CallingThread, ...args: Args): void | Promise<void>;
  /** Runs in each thread that carries traffic. */
  run(thread: TrafficThread, ...args: Args): Part | Promise<Part>;
  /** Makes one result of those of all threads. */
  merge(
    results: readonly ThreadResult<Part>[],
    caller: CallingThread,
    ...args: Args
  ): Result | Promise<Result>;
}

/** Declares a call, with its types. */
export function define<Args extends readonly unknown[], Part, Result>(
  call: DataPlaneCall<Args, Part, Result>,
): DataPlaneCall<Args, Part, Result> {
  return call;
}

/** Merges the results of a call that has none. */
export function nothing(): void {}
