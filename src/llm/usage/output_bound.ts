import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { JsonProblem } from "../../base/json/json_ambiguity.ts";
import { readJson } from "../../base/json/json_reader.ts";
import { JsonSelection, WHOLE } from "../../base/json/json_shape.ts";
import { MAX_TOKEN_COUNT } from "./usage_report.ts";

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

const selection = new JsonSelection({
  stream: WHOLE,
  max_tokens: WHOLE,
  max_completion_tokens: WHOLE,
  n: WHOLE,
  best_of: WHOLE,
});

/** Returns the largest number among members; lenient servers also read strings as numbers. */
function largest(request: JsonObject, names: readonly string[]): number {
  const numbers = names.map((name) => Number(request[name] ?? 0));
  return Math.max(0, ...numbers.filter(Number.isFinite));
}

function ignoreProblem(error: unknown): undefined {
  if (!(error instanceof JsonProblem)) throw error;
}
