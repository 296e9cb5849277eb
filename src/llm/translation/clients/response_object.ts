import type { JsonObject } from "../../../base/json.ts";
import type {
  AnswerUsage,
  ChatRequest,
  FinishReason,
} from "../conversation/conversation.ts";

/** Status of a response of OpenAI. */
export type ResponseStatus =
  | "in_progress"
  | "completed"
  | "incomplete"
  | "failed";

/** Facts of a response. */
interface ResponseFacts {
  readonly request: ChatRequest;
  readonly id: string;
  /** Seconds since the epoch. */
  readonly createdAt: number;
  readonly model: string;
  readonly output: readonly JsonObject[];
  readonly usage: AnswerUsage | undefined;
  readonly reason: FinishReason;
}

/** Writes the object of a response of OpenAI, with all fields that its SDKs require. */
export function responseObject(
  { request, id, createdAt, model, output, usage, reason }: ResponseFacts,
  status: ResponseStatus,
): JsonObject {
  const { maxTokens, temperature, topP, parallelCalls } = request;
  const isOpen = status === "in_progress";
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: createdAt,
    status,
    error: null,
    incomplete_details: status === "incomplete"
      ? { reason: reason === "length" ? "max_output_tokens" : "content_filter" }
      : null,
    instructions: null,
    max_output_tokens: maxTokens ?? null,
    metadata: {},
    model,
    output: isOpen ? [] : output,
    parallel_tool_calls: parallelCalls ?? true,
    previous_response_id: null,
    temperature: temperature ?? null,
    tool_choice: "auto",
    tools: [],
    top_p: topP ?? null,
    usage: usage === undefined || isOpen ? null : writeUsage(usage),
  };
}

function writeUsage(
  { input, cachedInput, cacheWrite, output, reasoning = 0 }: AnswerUsage,
): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: cachedInput,
      cache_write_tokens: cacheWrite,
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
