/** A worker of the gateway that a test can break: it obeys `breakWorker`. */
import { parentPort, workerData } from "node:worker_threads";
import { runWorker } from "../../../src/dataplane/workers/worker_main.ts";
import { type Fault, faultChannel } from "./worker_faults.ts";

const faults = new BroadcastChannel(faultChannel);
faults.onmessage = ({ data: { worker, fault } }) => {
  if (worker === workerData.worker) obey(fault);
};

function obey(fault: Fault): void {
  if (fault === "exit") Deno.exit(1);
  if (fault === "memory") fillMemory();
  else stayBusy(fault.busyWhile);
}

function fillMemory(): void {
  const kept: number[][] = [];
  setInterval(() => {
    for (let i = 0; i < 1000; i++) kept.push(new Array(1000).fill(i));
  });
}

function stayBusy(file: string): void {
  for (;;) {
    try {
      Deno.statSync(file);
    } catch {
      return;
    }
  }
}

if (parentPort !== null) runWorker();
