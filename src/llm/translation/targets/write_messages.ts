import { type JsonObject } from "../../../base/json.ts";
import type {
  ChatRequest,
  ImagePart,
  Part,
  ToolChoice,
} from "../conversation/conversation.ts";
import { UntranslatableError } from "../conversation/conversation.ts";
import { noCounterpart } from "../conversation/field_reader.ts";
import {
  FORMAT_TOOL,
  formatTool,
  refuse,
  thinkingBudget,
} from "../conversation/request_limits.ts";

/** Anthropic requires a limit; this one fits every model. */
const DEFAULT_MAX_TOKENS = 4096;

/**
 * Writes a request of Anthropic's messages.
 * @throws {UntranslatableError}
 */
export function writeMessagesRequest(request: ChatRequest): JsonObject {
  const { reasoningTokens, format, toolChoice, maxTokens } = request;
  refuse(request, "seed", "frequencyPenalty", "presencePenalty");
  if ((request.temperature ?? 0) > 1) {
    throw new UntranslatableError(
      '"temperature" above 1 has no counterpart at the provider of this model',
    );
  }
  const thinks = reasoningTokens !== undefined && reasoningTokens > 0;
  if (thinks && format !== undefined) {
    throw noCounterpart("response_format with reasoning");
  }
  const tools = [...request.tools, ...formatTool(request)];
  const choice = format === undefined ? toolChoice : { name: FORMAT_TOOL };
  return {
    model: request.model,
    max_tokens: maxTokens ??
      DEFAULT_MAX_TOKENS + (thinks ? reasoningTokens : 0),
    ...(request.system.length > 0 && {
      system: request.system.map((text) => ({ type: "text", text })),
    }),
    messages: request.turns.map(({ role, parts }) => ({
      role,
      content: parts.map(writePart),
    })),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, schema, strict }) => ({
        name,
        ...(description !== undefined && { description }),
        input_schema: schema,
        ...(strict && { strict }),
      })),
    }),
    ...writeToolChoice(choice, request.parallelCalls, tools.length > 0),
    ...(request.temperature !== undefined &&
      { temperature: request.temperature }),
    ...(request.topP !== undefined && { top_p: request.topP }),
    ...(request.topK !== undefined && { top_k: request.topK }),
    ...(request.stop.length > 0 && { stop_sequences: request.stop }),
    ...(reasoningTokens !== undefined && {
      thinking: thinks
        ? {
          type: "enabled",
          budget_tokens: thinkingBudget(reasoningTokens, maxTokens),
        }
        : { type: "disabled" },
    }),
    ...(request.user !== undefined && { metadata: { user_id: request.user } }),
    ...(request.stream && { stream: true }),
  };
}

function writePart(part: Part): JsonObject {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image":
      return writeImage(part);
    case "toolCall":
      return {
        type: "tool_use",
        id: part.id,
        name: part.name,
        input: part.input,
      };
    case "toolResult":
      return {
        type: "tool_result",
        tool_use_id: part.id,
        content: part.content.map(writePart),
        ...(part.isError && { is_error: true }),
      };
    case "thinking":
      return {
        type: "thinking",
        thinking: part.text,
        signature: part.signature,
      };
  }
}

function writeImage({ source }: ImagePart): JsonObject {
  return {
    type: "image",
    source: "url" in source
      ? { type: "url", url: source.url }
      : { type: "base64", media_type: source.mediaType, data: source.data },
  };
}

function writeToolChoice(
  choice: ToolChoice | undefined,
  parallelCalls: boolean | undefined,
  hasTools: boolean,
): JsonObject {
  if (!hasTools || (choice === undefined && parallelCalls !== false)) return {};
  const written = typeof choice === "object"
    ? { type: "tool", name: choice.name }
    : { type: choice === "required" ? "any" : choice ?? "auto" };
  return {
    tool_choice: {
      ...written,
      ...(parallelCalls === false && choice !== "none" &&
        { disable_parallel_tool_use: true }),
    },
  };
}
