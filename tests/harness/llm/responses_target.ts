import { eventStream } from "./llm_answers.ts";
import type { TranslationTarget } from "./translation_targets.ts";

const usage = {
  input_tokens: 14,
  input_tokens_details: { cached_tokens: 8, cache_write_tokens: 2 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 1 },
  total_tokens: 19,
};
const reasoning = {
  ...{ id: "rs_1", type: "reasoning", summary: [], status: "completed" },
  encrypted_content: "gAAAAABo-1_2.3",
};
const said = { type: "output_text", text: "Hello there", annotations: [] };
const message = {
  ...{ id: "msg_1", type: "message", role: "assistant", status: "completed" },
  content: [said],
};
const call = {
  ...{ id: "fc_1", type: "function_call", status: "completed" },
  ...{ call_id: "t1", name: "get_weather", arguments: '{"city":"Oslo"}' },
};

function response(status: string, output: readonly unknown[]) {
  return {
    ...{ id: "resp_1", object: "response", created_at: 1, model: "gpt" },
    ...{ status, error: null, incomplete_details: null, output },
    ...{ instructions: null, metadata: {}, parallel_tool_calls: true },
    ...{ temperature: 1, tool_choice: "auto", tools: [], top_p: 1 },
    usage: status === "completed" ? usage : null,
  };
}

function stream(
  item: Readonly<Record<string, unknown>>,
  start: Readonly<Record<string, unknown>>,
  events: readonly Readonly<Record<string, unknown>>[],
): Response {
  const place = { output_index: 1, item_id: item["id"] };
  return eventStream([
    { type: "response.created", response: response("in_progress", []) },
    { type: "response.in_progress", response: response("in_progress", []) },
    {
      ...{ type: "response.output_item.added", output_index: 0 },
      item: { ...reasoning, status: "in_progress", encrypted_content: "" },
    },
    { type: "response.output_item.done", output_index: 0, item: reasoning },
    {
      ...{ type: "response.output_item.added", output_index: 1 },
      item: { ...item, status: "in_progress", ...start },
    },
    ...events.map((event) => ({ ...event, ...place })),
    { type: "response.output_item.done", output_index: 1, item },
    {
      type: "response.completed",
      response: response("completed", [reasoning, item]),
    },
  ].map((event, index) => ({ ...event, sequence_number: index })));
}

/** Responses of OpenAI as a provider that has its API of responses alone. */
export const responsesTarget: TranslationTarget = {
  provider: "OpenAI",
  settings: { api: "Responses" },
  path: "/v1/responses",
  streamPath: "/v1/responses",
  text: response("completed", [message]),
  textStream: () =>
    stream(message, { content: [] }, [
      {
        type: "response.content_part.added",
        content_index: 0,
        part: { ...said, text: "" },
      },
      ...["Hello", " there"].map((delta) => ({
        ...{ type: "response.output_text.delta", content_index: 0, delta },
        logprobs: [],
      })),
      {
        ...{ type: "response.output_text.done", content_index: 0 },
        ...{ text: "Hello there", logprobs: [] },
      },
      { type: "response.content_part.done", content_index: 0, part: said },
    ]),
  call: response("completed", [call]),
  callStream: () =>
    stream(call, { arguments: "" }, [
      ...['{"city":', '"Oslo"}'].map((delta) => ({
        type: "response.function_call_arguments.delta",
        delta,
      })),
      {
        type: "response.function_call_arguments.done",
        arguments: '{"city":"Oslo"}',
      },
    ]),
};
