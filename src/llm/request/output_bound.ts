import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { JsonProblem } from "../../base/json/json_ambiguity.ts";
import { readJson } from "../../base/json/json_reader.ts";
import {
  JsonSelection,
  type JsonShape,
  WHOLE,
} from "../../base/json/json_shape.ts";
import { MAX_TOKEN_COUNT } from "../usage/usage_report.ts";

/** Output that budgets hold for a response that has no limit; what it uses beyond that is charged as well. */
export const USUAL_OUTPUT_TOKENS = 4096;

/** Output of a request that sets no limit: hidden reasoning rarely exceeds it. */
export const UNLIMITED_OUTPUT_TOKENS = 65_536;

/**
 * Reads the most tokens that a streamed OpenAI chat or completion may generate, for a response that reports no usage.
 *
 * Returns 0 when the response is not streamed, so that it reports its usage; `UNLIMITED_OUTPUT_TOKENS` when the request sets no limit, or
 * is JSON that servers read in different ways.
 */
export async function readOutputBound(body: Uint8Array): Promise<number> {
  const request = await readJson(body, selection).catch(ignoreProblem);
  if (!isJsonObject(request)) return UNLIMITED_OUTPUT_TOKENS;
  const { stream } = request;
  if (stream === undefined || stream === false || stream === null) return 0;
  const limit = largest(request, ["max_tokens", "max_completion_tokens"]);
  if (limit === 0) return UNLIMITED_OUTPUT_TOKENS;
  const choices = Math.max(1, largest(request, ["n", "best_of"]));
  return Math.min(Math.ceil(limit * choices), MAX_TOKEN_COUNT);
}

/**
 * Reads the most tokens that a request of any LLM API may generate, for all its choices; `undefined` if it sets no limit, and
 * `UNLIMITED_OUTPUT_TOKENS` for JSON that servers read in different ways.
 */
export async function readOutputLimit(
  body: Uint8Array,
): Promise<number | undefined> {
  const request = await readJson(body, limitSelection).catch(ignoreProblem);
  if (!isJsonObject(request)) return UNLIMITED_OUTPUT_TOKENS;
  const places = [request, ...limitParts.map((name) => request[name])]
    .filter(isJsonObject);
  const limit = Math.max(...places.map((each) => largest(each, limitNames)));
  if (limit === 0) return undefined;
  const choices = places.map((each) => largest(each, choiceNames));
  return Math.min(Math.ceil(limit * Math.max(1, ...choices)), MAX_TOKEN_COUNT);
}

const selection = new JsonSelection({
  stream: WHOLE,
  max_tokens: WHOLE,
  max_completion_tokens: WHOLE,
  n: WHOLE,
  best_of: WHOLE,
});

/** Names of the limit in all APIs. */
const limitNames = [
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "max_tokens_to_sample",
  "max_new_tokens",
  "maxOutputTokens",
  "maxTokens",
  "n_predict",
  "num_predict",
];
const choiceNames = ["n", "best_of", "candidateCount", "candidate_count"];
/** Objects in a request that may have them. */
const limitParts = [
  "generationConfig",
  "generation_config",
  "inferenceConfig",
  "options",
  "parameters",
];
const limitShape: Readonly<Record<string, JsonShape>> = Object.fromEntries(
  [...limitNames, ...choiceNames].map((name) => [name, WHOLE]),
);
const limitSelection = new JsonSelection({
  ...limitShape,
  ...Object.fromEntries(limitParts.map((name) => [name, limitShape])),
});

/** Returns the largest number among members; lenient servers also read strings as numbers. */
function largest(request: JsonObject, names: readonly string[]): number {
  const numbers = names.map((name) => Number(request[name] ?? 0));
  return Math.max(0, ...numbers.filter(Number.isFinite));
}

function ignoreProblem(error: unknown): undefined {
  if (!(error instanceof JsonProblem)) throw error;
}
