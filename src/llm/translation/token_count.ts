import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { LlmFamily, LlmOperation } from "../providers/operation.ts";
import { readMessagesRequest } from "./clients/read_messages.ts";
import { countOf } from "./conversation/answer_fields.ts";
import { Losses } from "./conversation/losses.ts";
import { writeConverseRequest } from "./targets/write_converse.ts";
import { writeGeminiRequest } from "./targets/write_gemini.ts";

/** A request to count tokens in the form of a provider's API. */
export interface CountRequest {
  readonly operation: LlmOperation;
  readonly body: JsonObject;
  /** Name of the number in the answer. */
  readonly field: string;
}

/** Reports whether an operation counts the tokens of a request, in Anthropic's form. */
export function countsTokens({ family, name }: LlmOperation): boolean {
  return family === "anthropic" && name === "messages/count_tokens";
}

/**
 * Translates a request of Anthropic's to count tokens; `undefined` for families whose providers do not count.
 * @throws {UntranslatableError}
 */
export function translateCount(
  body: JsonObject,
  { target, wrapsCount = false }: {
    readonly target: LlmFamily;
    readonly wrapsCount?: boolean | undefined;
  },
): CountRequest | undefined {
  const losses = new Losses("Drop");
  const request = readMessagesRequest(body, losses);
  if (target === "gemini") {
    const { toolConfig: _choice, generationConfig: _config, ...content } =
      writeGeminiRequest(request, losses);
    const model = `models/${request.model}`;
    return {
      operation: { family: target, name: "countTokens" },
      body: wrapsCount
        ? { generateContentRequest: { model, ...content } }
        : content,
      field: "totalTokens",
    };
  }
  if (target !== "bedrock") return undefined;
  const { messages, system, toolConfig } = writeConverseRequest(
    request,
    losses,
  );
  const converse = { messages, system, toolConfig };
  return {
    operation: { family: target, name: "count-tokens" },
    body: { input: { converse } },
    field: "inputTokens",
  };
}

/** Reads the number of a provider's answer; 0 without one. */
export function readCount(answer: unknown, field: string): number {
  return isJsonObject(answer) ? countOf(answer, field) : 0;
}
