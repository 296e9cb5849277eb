import { type JsonObject } from "../../../base/json.ts";
import type {
  ChatRequest,
  ImagePart,
  Part,
  TextPart,
  Turn,
} from "../conversation/conversation.ts";
import { UntranslatableError } from "../conversation/conversation.ts";
import { refuse } from "../conversation/request_limits.ts";

/**
 * Writes a request of OpenAI's chat completions. Reasoning of earlier turns is left out: the API has no place for it.
 * @throws {UntranslatableError}
 */
export function writeChatRequest(request: ChatRequest): JsonObject {
  refuse(request, "topK");
  const { format, tools, toolChoice, reasoningTokens, stop } = request;
  return {
    model: request.model,
    messages: [
      ...request.system.map((content) => ({ role: "system", content })),
      ...request.turns.flatMap(writeTurn),
    ],
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, schema, strict }) => ({
        type: "function",
        function: {
          name,
          ...(description !== undefined && { description }),
          parameters: schema,
          ...(strict && { strict }),
        },
      })),
    }),
    ...(toolChoice !== undefined && tools.length > 0 && {
      tool_choice: typeof toolChoice === "object"
        ? { type: "function", function: { name: toolChoice.name } }
        : toolChoice,
    }),
    ...(request.parallelCalls === false && { parallel_tool_calls: false }),
    ...(request.maxTokens !== undefined && { max_tokens: request.maxTokens }),
    ...(request.temperature !== undefined &&
      { temperature: request.temperature }),
    ...(request.topP !== undefined && { top_p: request.topP }),
    ...(stop.length > 0 && { stop }),
    ...(format !== undefined && {
      response_format: format.schema === undefined ? { type: "json_object" } : {
        type: "json_schema",
        json_schema: { name: "answer", schema: format.schema, strict: true },
      },
    }),
    ...(reasoningTokens !== undefined && {
      reasoning_effort: effortOf(reasoningTokens),
    }),
    ...(request.user !== undefined && { user: request.user }),
    ...(request.stream && {
      stream: true,
      stream_options: { include_usage: true },
    }),
  };
}

function effortOf(tokens: number): string {
  if (tokens === 0) return "none";
  if (tokens <= 2048) return "low";
  return tokens <= 8192 ? "medium" : "high";
}

function writeTurn({ role, parts }: Turn): readonly JsonObject[] {
  const results = parts.flatMap((part): JsonObject[] =>
    part.type === "toolResult"
      ? [{
        role: "tool",
        tool_call_id: part.id,
        content: (part.isError ? "Error: " : "") + textOf(part.content),
      }]
      : []
  );
  const content = parts.filter((part) =>
    part.type === "text" || part.type === "image"
  );
  const calls = parts.flatMap((part) => writeCall(part));
  if (content.length === 0 && calls.length === 0) return results;
  return [...results, {
    role,
    content: content.length === 0
      ? null
      : role === "assistant" || content.every(({ type }) => type === "text")
      ? textOf(content)
      : content.map(writeContent),
    ...(calls.length > 0 && { tool_calls: calls }),
  }];
}

function writeCall(part: Part): readonly JsonObject[] {
  if (part.type !== "toolCall") return [];
  const { id, name, input } = part;
  return [{
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }];
}

function writeContent(part: TextPart | ImagePart): JsonObject {
  if (part.type === "text") return { type: "text", text: part.text };
  const { source } = part;
  const url = "url" in source
    ? source.url
    : `data:${source.mediaType};base64,${source.data}`;
  return { type: "image_url", image_url: { url } };
}

function textOf(content: readonly (TextPart | ImagePart)[]): string {
  return content.map((part) => {
    if (part.type === "text") return part.text;
    throw new UntranslatableError(
      "an image in a tool result has no counterpart at the provider of this model",
    );
  }).join("");
}
