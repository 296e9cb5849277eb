import { isJsonObject } from "../../base/json.ts";
import type { LlmApi } from "../llm_api.ts";
import { readUsageReport, type UsageReport } from "./usage_report.ts";

/** What a JSON answer, or one event of a stream, says about usage. */
export interface AnswerDocument {
  readonly report: UsageReport | undefined;
  /** Whether the answer only begins with it: Anthropic's `message_start` knows the input, not yet the output. */
  readonly isStart: boolean;
  readonly model: string | undefined;
}

/**
 * Where an answer may speak of usage and model; everything else in it is skipped. Also: OpenAI's `response.completed` event,
 * Anthropic's `message_start`, Cohere's `message-end`, Groq, and Ollama's counts at the top.
 */
export const answerPaths: ReadonlySet<string> = new Set([
  ...["", "response.", "message.", "metadata.", "delta.", "x_groq."].flatMap(
    (prefix) => [`${prefix}usage`, `${prefix}usageMetadata`],
  ),
  "meta",
  "prompt_eval_count",
  "eval_count",
  "model",
  "modelVersion",
  "message.model",
  "response.model",
  "response.modelVersion",
]);

const MAX_MODEL_LENGTH = 256;

/** Reads a document, or what `answerPaths` leaves of it. */
export function readAnswerDocument(
  document: unknown,
  api: LlmApi | undefined,
): AnswerDocument {
  if (!isJsonObject(document)) {
    return { report: undefined, isStart: false, model: undefined };
  }
  const { response, message, delta } = document;
  // Bedrock's; elsewhere clients may send metadata and get it back.
  const isTold = api === undefined || api === "converse";
  const metadata = isTold ? document["metadata"] : undefined;
  const places = [document, response, metadata, delta, document["x_groq"]];
  const report = firstOf(places, (place) => readPlace(place, api)) ??
    readUsageReport(document["meta"], api) ??
    readCounts(document, api);
  const start = report === undefined ? readPlace(message, api) : undefined;
  return {
    report: report ?? start,
    isStart: start !== undefined,
    model: firstOf([document, message, response], readModel),
  };
}

function readPlace(
  place: unknown,
  api: LlmApi | undefined,
): UsageReport | undefined {
  if (!isJsonObject(place)) return undefined;
  return readUsageReport(place["usage"], api) ??
    readUsageReport(place["usageMetadata"], api);
}

/** Ollama has its counts among everything else. */
function readCounts(
  document: Readonly<Record<string, unknown>>,
  api: LlmApi | undefined,
): UsageReport | undefined {
  const { prompt_eval_count: input, eval_count: output } = document;
  if (input === undefined && output === undefined) return undefined;
  return readUsageReport({ prompt_eval_count: input, eval_count: output }, api);
}

function readModel(place: unknown): string | undefined {
  if (!isJsonObject(place)) return undefined;
  const model = place["model"] ?? place["modelVersion"];
  return typeof model === "string" && model !== ""
    ? model.slice(0, MAX_MODEL_LENGTH)
    : undefined;
}

function firstOf<T>(
  places: readonly unknown[],
  read: (place: unknown) => T | undefined,
): T | undefined {
  for (const place of places) {
    const found = read(place);
    if (found !== undefined) return found;
  }
  return undefined;
}
