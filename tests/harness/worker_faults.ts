/** Name of the channel that faults go through. */
export const faultChannel = "faults of workers";

/** Breaks a worker that runs `faulty_worker.ts`: it exits, or fills its memory. */
export function breakWorker(worker: number, fault: "exit" | "memory"): void {
  const channel = new BroadcastChannel(faultChannel);
  channel.postMessage({ worker, fault });
  channel.close();
}
