import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import type { AnswerEvent } from "./conversation.ts";

/** An answer of a provider that does not have the form of its API. */
export class UnknownAnswerError extends Error {
  override readonly name = "UnknownAnswerError";
}

/** Creates the error for an answer with something unknown. */
export function unknownForm(what: string): UnknownAnswerError {
  return new UnknownAnswerError(`the answer has ${what}`);
}

/** Returns a member that is an object; an empty one without it. */
export function objectOf(holder: JsonObject, name: string): JsonObject {
  const value = holder[name];
  return isJsonObject(value) ? value : {};
}

/** Returns the objects of a list; empty without it. */
export function objectsOf(
  holder: JsonObject,
  name: string,
): readonly JsonObject[] {
  const value = holder[name];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns a number of tokens; 0 without it. */
export function countOf(holder: JsonObject, name: string): number {
  const value = holder[name];
  return typeof value === "number" && value > 0 ? value : 0;
}

/** Reads the `usage` of OpenAI's APIs. @param input In the names of its fields: `prompt` or `input`. @param output `completion` or `output`. */
export function openAiUsage(
  answer: JsonObject,
  input: "prompt" | "input",
  output: "completion" | "output",
): readonly AnswerEvent[] {
  const usage = objectOf(answer, "usage");
  const ofInput = objectOf(usage, `${input}_tokens_details`);
  const ofOutput = objectOf(usage, `${output}_tokens_details`);
  return [{
    type: "usage",
    usage: {
      input: countOf(usage, `${input}_tokens`),
      cachedInput: countOf(ofInput, "cached_tokens"),
      cacheWrite: countOf(ofInput, "cache_write_tokens"),
      output: countOf(usage, `${output}_tokens`),
      reasoning: countOf(ofOutput, "reasoning_tokens"),
    },
  }];
}

/** Returns the index of a block that an event belongs to; 0 without it. */
export function indexOf(event: JsonObject, name: string): number {
  const value = event[name];
  return typeof value === "number" ? value : 0;
}
