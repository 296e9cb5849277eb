import { Worker } from "node:worker_threads";
import { type Cancellation, unlessCancelled } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type {
  ConversionOutcome,
  ConversionTask,
} from "./document/rest_tool.ts";

/** Limits of a conversion; GitHub's document of 13 MB needs 2 s and 300 MB. */
const MAX_MS = 120_000;
const MAX_MEGABYTES = 1024;

/** Converts a document in a thread of its own, so that requests go on. Failures are outcomes. */
export async function convertInThread(
  task: ConversionTask,
  clock: Clock,
  cancellation: Cancellation,
): Promise<ConversionOutcome> {
  const { promise, resolve } = Promise.withResolvers<ConversionOutcome>();
  const worker = new Worker(program(), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEGABYTES },
  });
  worker.on("message", resolve);
  worker.on("error", (error) => resolve({ problem: describeError(error) }));
  worker.on("exit", () => resolve({ problem: "its conversion ended early" }));
  const stop = clock.setTimer(
    () => resolve({ problem: "its conversion takes too long" }),
    MAX_MS,
  );
  try {
    return await unlessCancelled(promise, cancellation);
  } finally {
    stop();
    await worker.terminate();
  }
}

/** Returns `converter.ts`, or `converter.js` beside the program of the executable. */
function program(): URL {
  const isSource = import.meta.url.endsWith("/conversion_thread.ts");
  const path = isSource ? "../../../converter.ts" : "converter.js";
  return new URL(path, import.meta.url);
}
