import { isJsonObject } from "../../base/json.ts";
import { JsonPaths } from "../../base/json/json_scanner.ts";
import { shapePaths } from "../answer_shape.ts";
import { type LlmApi, llmApiFacts } from "../llm_api.ts";
import { plainFields } from "./usage_dialects.ts";
import { readUsageReport, type UsageReport } from "./usage_report.ts";

/** Usage in a JSON response or an event of a stream. */
export interface ResponseUsage {
  readonly report: UsageReport | undefined;
  /** The report is preliminary: Anthropic's `message_start` contains the input tokens only. */
  readonly isStart: boolean;
  readonly model: string | undefined;
  /** Identifier of a response of OpenAI that runs in the background. */
  readonly backgroundId?: string | undefined;
}

/** Path of each image in responses of OpenAI's API for images. */
export const IMAGES = "data[]";

/**
 * Paths of usage and model in responses, including OpenAI's `response.completed` event, Anthropic's `message_start`, Cohere's
 * `message-end` and `stream-end`, Groq, Cloudflare's `result`, and the counts of Ollama and llama.cpp at the top level, of TGI in
 * `details`, and of watsonx in `results`.
 */
const usagePaths = [
  ...["", "response.", "message.", "metadata.", "delta.", "x_groq.", "result."]
    .flatMap(
      (prefix) => [`${prefix}usage`, `${prefix}usageMetadata`],
    ),
  "usage_info",
  "meta",
  "response.meta",
  "details",
  "results",
  ...plainFields,
  "model",
  "model_id",
  "modelVersion",
  "message.model",
  "response.model",
  "response.modelVersion",
];
const commonPaths = new JsonPaths(usagePaths);
const unknownPaths = new JsonPaths([...usagePaths, ...shapePaths]);
/** Leads through the list of images, so that they are counted. */
const imagesPaths = new JsonPaths([...usagePaths, `${IMAGES}.url`]);
const responsesPaths = new JsonPaths([
  ...usagePaths,
  ...["id", "background", "response.id", "response.background"],
]);

/** Returns the paths of the values that `readResponseUsage` reads. */
export function usagePathsOf(api: LlmApi | undefined): JsonPaths {
  if (api === undefined) return unknownPaths;
  if (api === "images") return imagesPaths;
  return api === "responses" ? responsesPaths : commonPaths;
}

const MAX_MODEL_LENGTH = 256;

/** Reads the usage of a document, which may be reduced to `usagePathsOf(api)`. */
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
  const { x_groq: groq, result, results, meta, details } = document;
  const places = [document, response, metadata, delta, groq, result];
  const report = firstOf(places, (place) => readPlace(place, api)) ??
    readUsageReport(meta, api) ??
    readUsageReport(
      isJsonObject(response) ? response["meta"] : undefined,
      api,
    ) ??
    firstOf([document, details, firstItem(results)], readCounts);
  const start = report === undefined ? readPlace(message, api) : undefined;
  return {
    report: report ?? start,
    isStart: start !== undefined,
    model: firstOf([document, message, response], readModel),
    ...(api === "responses" &&
      { backgroundId: firstOf([document, response], readBackgroundId) }),
  };
}

function readPlace(
  place: unknown,
  api: LlmApi | undefined,
): UsageReport | undefined {
  if (!isJsonObject(place)) return undefined;
  return readUsageReport(place["usage"], api) ??
    readUsageReport(place["usageMetadata"], api) ??
    readUsageReport(place["usage_info"], api);
}

/** Reads counts that are members beside others. */
function readCounts(place: unknown): UsageReport | undefined {
  if (!isJsonObject(place)) return undefined;
  const counts = plainFields.flatMap((name) =>
    place[name] === undefined ? [] : [[name, place[name]] as const]
  );
  return readUsageReport(Object.fromEntries(counts), undefined);
}

function firstItem(list: unknown): unknown {
  return Array.isArray(list) ? list[0] : undefined;
}

function readModel(place: unknown): string | undefined {
  if (!isJsonObject(place)) return undefined;
  const model = place["model"] ?? place["modelVersion"] ?? place["model_id"];
  return typeof model === "string" && model !== ""
    ? model.slice(0, MAX_MODEL_LENGTH)
    : undefined;
}

function readBackgroundId(place: unknown): string | undefined {
  if (!isJsonObject(place) || place["background"] !== true) return undefined;
  const { id } = place;
  return typeof id === "string" && id !== "" ? id : undefined;
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
