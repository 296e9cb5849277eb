/** Name of the channel that faults go through. */
export const faultChannel = "faults of workers";

/** A worker exits, fills its memory, or does not return to its event loop as long as a file exists. */
export type Fault = "exit" | "memory" | { readonly busyWhile: string };

/** Breaks a worker that runs `faulty_worker.ts`. */
export function breakWorker(worker: number, fault: Fault): void {
  const channel = new BroadcastChannel(faultChannel);
  channel.postMessage({ worker, fault });
  channel.close();
}
