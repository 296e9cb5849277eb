import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { JsonPaths } from "../format/json_scanner.ts";
import { type LlmApi, llmApiFacts } from "../llm_api.ts";
import { readUsageReport, type UsageReport } from "./usage_report.ts";

/** Usage in a JSON response or an event of a stream. */
export interface ResponseUsage {
  readonly report: UsageReport | undefined;
  /** The report is preliminary: Anthropic's `message_start` contains the input tokens only. */
  readonly isStart: boolean;
  readonly model: string | undefined;
}

/**
 * Paths of usage and model in responses, including OpenAI's `response.completed` event, Anthropic's `message_start`, Cohere's
 * `message-end`, Groq, and Ollama's top-level counts.
 */
export const usagePaths: JsonPaths = new JsonPaths([
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

/** Reads the usage of a document, which may be reduced to `usagePaths`. */
export function readResponseUsage(
  document: unknown,
  api: LlmApi | undefined,
): ResponseUsage {
  if (!isJsonObject(document)) {
    return { report: undefined, isStart: false, model: undefined };
  }
  const { response, message, delta } = document;
  const isTrusted = api === undefined || llmApiFacts(api).usageInMetadata;
  const metadata = isTrusted ? document["metadata"] : undefined;
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

/** Reads Ollama's counts at the top level. */
function readCounts(
  document: JsonObject,
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
