import type { ChatRequest, Tool } from "./conversation.ts";
import { noCounterpart } from "./field_reader.ts";

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
