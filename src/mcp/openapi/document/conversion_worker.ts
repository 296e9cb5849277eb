import { parentPort, workerData } from "node:worker_threads";
import { describeError } from "../../../base/errors.ts";
import { convertDocument } from "./convert_document.ts";
import type { ConversionOutcome, ConversionTask } from "./rest_tool.ts";
import { DocumentError } from "./openapi_document.ts";

/** Converts the document that the thread was started with, and posts the outcome. */
export function serveConversion(): void {
  const task: ConversionTask = workerData;
  parentPort?.postMessage(outcomeOf(task));
}

function outcomeOf({ text, ...selection }: ConversionTask): ConversionOutcome {
  try {
    return { converted: convertDocument(text, selection) };
  } catch (error) {
    return {
      problem: error instanceof DocumentError
        ? error.message
        : `it cannot be converted: ${describeError(error)}`,
    };
  }
}
