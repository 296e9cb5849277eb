import type { WorkerStart } from "./protocol.ts";

/** Returns what the control thread has passed to a worker that starts. */
export function decodeStart(data: unknown): WorkerStart {
  return data as WorkerStart;
}
