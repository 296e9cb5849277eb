import {
  type BodyMemoryState,
  createBodyMemory,
} from "../../http/body_memory.ts";
import {
  type ConnectionMemory,
  createConnectionMemory,
} from "../state/shared_connections.ts";
import { createCountedMemory } from "../../llm/batch/counted_outputs.ts";
import { createHeartbeats, type HeartbeatMemory } from "./heartbeat.ts";
import { randomSecret } from "../../proxy/mcp/mcp_endpoints.ts";
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
  readonly heartbeats: HeartbeatMemory;
  readonly bodyMemory: BodyMemoryState;
  /** See `CountedOutputs`. */
  readonly countedOutputs: SharedArrayBuffer;
  /** Seals sessions of MCP clients, where the configuration has no secret. */
  readonly sessionSecret: string;
  /** Number of requests that were rejected before they could be read. */
  readonly refusals: SharedArrayBuffer;
}

/** Sizes of the shared memory. */
export interface SharedStateOptions {
  readonly workers: number;
  /** See `BodyMemoryState`. */
  readonly bodyMemoryBytes: number;
  /** See `HeartbeatMemory`. */
  readonly lookMs: number | undefined;
}

/** Creates the memory for a number of workers. */
export function createSharedState(
  { workers, bodyMemoryBytes, lookMs }: SharedStateOptions,
): SharedState {
  return {
    workers,
    traceTurns: createTraceTurns(),
    connections: createConnectionMemory(workers),
    heartbeats: createHeartbeats(workers, lookMs),
    bodyMemory: createBodyMemory(workers, bodyMemoryBytes),
    countedOutputs: createCountedMemory(),
    sessionSecret: randomSecret(),
    refusals: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
  };
}
