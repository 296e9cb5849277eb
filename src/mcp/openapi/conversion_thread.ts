import { Worker } from "node:worker_threads";
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type {
  ConversionOutcome,
  ConversionTask,
  OperationSelection,
} from "./document/rest_tool.ts";

/** Limits of a conversion; GitHub's document of 13 MB needs 2 s and 300 MB. */
const MAX_MS = 120_000;
const MAX_MEGABYTES = 1024;

/** Outcomes by the selection of operations, which belongs to one server of a configuration. */
const known = new WeakMap<OperationSelection, KnownOutcome>();

interface KnownOutcome {
  readonly digest: string;
  readonly outcome: Promise<ConversionOutcome>;
}

/**
 * Converts a document in a thread of its own, so that requests go on; once for all endpoints of a server. Failures are outcomes.
 * @param digest Names the text.
 * @param isAwaited The process stays until the outcome is there; a gateway that stops does not wait for it.
 */
export async function convertOnce(
  text: string,
  digest: string,
  selection: OperationSelection,
  clock: Clock,
  isAwaited = false,
): Promise<ConversionOutcome> {
  const latest = known.get(selection);
  if (latest?.digest === digest) return await latest.outcome;
  const outcome = convertInThread(
    { text, ...selection },
    clock,
    isAwaited,
  );
  known.set(selection, { digest, outcome });
  return await outcome;
}

async function convertInThread(
  task: ConversionTask,
  clock: Clock,
  isAwaited: boolean,
): Promise<ConversionOutcome> {
  const { promise, resolve } = Promise.withResolvers<ConversionOutcome>();
  const worker = new Worker(program(), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEGABYTES },
  });
  if (!isAwaited) worker.unref();
  worker.on("message", resolve);
  worker.on("error", (error) => resolve({ problem: describeError(error) }));
  worker.on("exit", () => resolve({ problem: "its conversion ended early" }));
  const stop = clock.setTimer(
    () => resolve({ problem: "its conversion takes too long" }),
    MAX_MS,
  );
  try {
    return await promise;
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
