import {
  type ChatRequest,
  type Tool,
  UntranslatableError,
} from "./conversation.ts";
import { noCounterpart } from "./field_reader.ts";

/** Limit of the values in texts of JSON: the arguments or results of all tools, or the input of one call. */
export const MAX_QUOTED_VALUES = 30_000;

/** Name of the tool that stands for a format of the answer, at providers that have no formats. */
export const FORMAT_TOOL = "answer_as_json";

/**
 * Returns the tool that makes the model answer in a format: its input is the answer.
 * @throws {UntranslatableError} If there are other tools: the model would have to call this one.
 */
export function formatTool({ format, tools }: ChatRequest): readonly Tool[] {
  if (format === undefined) return [];
  if (tools.length > 0) throw noCounterpart("response_format with tools");
  return [{
    name: FORMAT_TOOL,
    description: "Answers the user. Its input is the whole answer.",
    schema: format.schema ?? { type: "object" },
    strict: false,
  }];
}

/** The least that Claude can be given to think. */
const MIN_THINKING_TOKENS = 1024;
/** Share of a limit that thinking may use where it wants all of it; the rest is for the answer. */
const THINKING_SHARE = 0.8;

/**
 * Returns the tokens that Claude may think: as many as the request wants, below the limit of its output, which holds for both.
 * @throws {UntranslatableError} If the limit leaves too few to think at all.
 */
export function thinkingBudget(
  wanted: number,
  maxTokens: number | undefined,
): number {
  if (maxTokens === undefined || wanted < maxTokens) return wanted;
  if (maxTokens <= MIN_THINKING_TOKENS) {
    throw new UntranslatableError(
      `"max_tokens" of ${maxTokens} has no room for reasoning at the provider of this model: expected more than ${MIN_THINKING_TOKENS}, or no reasoning`,
    );
  }
  return Math.max(MIN_THINKING_TOKENS, Math.floor(maxTokens * THINKING_SHARE));
}

const names = {
  seed: "seed",
  frequencyPenalty: "frequency_penalty",
  presencePenalty: "presence_penalty",
  topK: "top_k",
  user: "user",
} as const;

/** @throws {UntranslatableError} If one of these fields is set. */
export function refuse(
  request: ChatRequest,
  ...fields: readonly (keyof typeof names)[]
): void {
  for (const field of fields) {
    if (request[field] !== undefined) throw noCounterpart(names[field]);
  }
}

/** @throws {UntranslatableError} If tools have to follow their schema, or may not be called at once. */
export function refuseStrictTools({ tools, parallelCalls }: ChatRequest): void {
  if (tools.some(({ strict }) => strict)) throw noCounterpart("tools: strict");
  if (parallelCalls === false) {
    throw noCounterpart("parallel_tool_calls: false");
  }
}
