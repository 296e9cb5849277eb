import {
  type ConnectionMemory,
  createConnectionMemory,
} from "../shared/shared_connections.ts";
import { createTraceTurns } from "./shared_turns.ts";

/**
 * Memory that all workers share. The control thread creates it once; it outlives workers and their replacements.
 */
export interface SharedState {
  /** Number of workers. */
  readonly workers: number;
  /** Turns to trace a request; see `SharedTurns`. */
  readonly traceTurns: SharedArrayBuffer;
  readonly connections: ConnectionMemory;
}

/** Creates the memory for a number of workers. */
export function createSharedState(workers: number): SharedState {
  return {
    workers,
    traceTurns: createTraceTurns(),
    connections: createConnectionMemory(workers),
  };
}
