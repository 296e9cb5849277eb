import { isJsonObject, type JsonObject } from "../base/json.ts";

/** Finish and stop reasons of OpenAI, Anthropic, Gemini and Bedrock for an answer that a content filter withholds; 2026-11. */
const filterReasons: ReadonlySet<unknown> = new Set([
  "content_filter",
  "refusal",
  "SAFETY",
  "RECITATION",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "content_filtered",
  "guardrail_intervened",
]);

/** Words of providers that reject a request for its content. */
const filterError =
  /content_filter|content_policy_violation|ResponsibleAIPolicyViolation|content management policy/i;

/** Reports whether an error of a provider is about the content of the request. */
export function isFilterError(error: string): boolean {
  return filterError.test(error);
}

/** Reports whether a provider withholds an answer, or an event of one, for its content. */
export function isWithheld(answer: unknown): boolean {
  if (!isJsonObject(answer)) return false;
  const { stop_reason: stop, stopReason, promptFeedback } = answer;
  const { incomplete_details: incomplete } = answer;
  return isFilterReason(stop) || isFilterReason(stopReason) ||
    firstOf(answer, "choices", "finish_reason") ||
    firstOf(answer, "candidates", "finishReason") ||
    isJsonObject(promptFeedback) &&
      promptFeedback["blockReason"] !== undefined ||
    isJsonObject(incomplete) && isFilterReason(incomplete["reason"]);
}

function isFilterReason(reason: unknown): boolean {
  return filterReasons.has(reason);
}

function firstOf(answer: JsonObject, list: string, name: string): boolean {
  const items = answer[list];
  const [first]: unknown[] = Array.isArray(items) ? items : [];
  return isJsonObject(first) && isFilterReason(first[name]);
}
