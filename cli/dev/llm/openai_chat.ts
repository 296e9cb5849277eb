import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { type Answer, answer, countPromptTokens, textOf } from "./answer.ts";
import {
  type Call,
  CREATED_AT,
  LlmError,
  type Reply,
  type RequestFields,
} from "./dialect.ts";
import { countCachedTokens } from "./openai.ts";
import { type ToolCall, toolCallFor } from "./tool_call.ts";

/** `POST /v1/chat/completions`. */
export function completeChat({ id, fields }: Call): Reply {
  const model = fields.text("model");
  const messages = fields.objects("messages").map(({ role, content }) => ({
    role,
    text: textOf(content),
  }));
  const last = messages.at(-1);
  const question = messages.findLast(({ role }) => role === "user")?.text ?? "";
  const call = last?.role === "user"
    ? toolCallFor(question, fields.optional("tools"))
    : undefined;
  const reply = call === undefined
    ? answer(
      last?.role === "tool" ? `the tool returned ${last.text}` : question,
      fields.count("max_completion_tokens") ?? fields.count("max_tokens"),
    )
    : noText;
  const calls = call === undefined ? {} : { tool_calls: [toolCall(id, call)] };
  const usage = chatUsage(
    countPromptTokens(messages.map(({ text }) => text)),
    reply.tokens.length,
  );
  const head = { id: `chatcmpl-${id}`, created: CREATED_AT, model };
  const tail = { service_tier: "default", system_fingerprint: "fp_playground" };

  const wantsUsage = readIncludeUsage(fields);
  if (fields.flag("stream")) {
    return {
      events: streamChat({
        head,
        tail,
        reply,
        calls,
        usage: wantsUsage ? usage : undefined,
      }),
    };
  }
  const message = {
    role: "assistant",
    content: call === undefined ? reply.text : null,
    refusal: null,
    annotations: [],
    ...calls,
  };
  const choice = {
    index: 0,
    message,
    logprobs: null,
    finish_reason: finishReason(reply, calls),
  };
  return {
    json: {
      ...head,
      object: "chat.completion",
      choices: [choice],
      usage,
      ...tail,
    },
  };
}

interface ChatStream {
  readonly head: JsonObject;
  readonly tail: JsonObject;
  readonly reply: Answer;
  /** Empty, or `tool_calls`. */
  readonly calls: JsonObject;
  /** `undefined` unless the caller requested it. */
  readonly usage: JsonObject | undefined;
}

function* streamChat(
  { head, tail, reply, calls, usage }: ChatStream,
): Iterable<string> {
  const chunk = (choices: readonly JsonObject[], usage: JsonObject) =>
    `data: ${
      JSON.stringify({
        ...head,
        object: "chat.completion.chunk",
        choices,
        ...tail,
        ...usage,
      })
    }\n\n`;
  // With `include_usage` every chunk has the field; only the last one, which has no choices, has a value.
  const noUsage = usage === undefined ? {} : { usage: null };
  const choice = (delta: JsonObject, finish_reason: string | null = null) =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason }], noUsage);

  yield choice({ role: "assistant", content: "", refusal: null });
  for (const content of reply.tokens) yield choice({ content });
  if ("tool_calls" in calls) yield choice(calls);
  yield choice({}, finishReason(reply, calls));
  if (usage !== undefined) yield chunk([], { usage });
  yield "data: [DONE]\n\n";
}

function readIncludeUsage(fields: RequestFields): boolean {
  const options = fields.optional("stream_options");
  if (options === undefined) return false;
  if (!fields.flag("stream")) {
    const message =
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
    throw new LlmError(400, message, { field: "stream_options" });
  }
  return isJsonObject(options) && options.include_usage === true;
}

const noText: Answer = { tokens: [], text: "", complete: true };

function toolCall(id: string, { name, arguments: given }: ToolCall) {
  const type = "function";
  const call = { name, arguments: given };
  return { index: 0, id: `call_${id}`, type, function: call };
}

function finishReason(reply: Answer, calls: JsonObject): string {
  if ("tool_calls" in calls) return "tool_calls";
  return reply.complete ? "stop" : "length";
}

function chatUsage(prompt: number, completion: number): JsonObject {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: countCachedTokens(prompt),
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
