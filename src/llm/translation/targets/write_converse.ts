import { type JsonObject } from "../../../base/json.ts";
import type {
  ChatRequest,
  ImagePart,
  Part,
} from "../conversation/conversation.ts";
import { noCounterpart } from "../conversation/field_reader.ts";
import {
  FORMAT_TOOL,
  formatTool,
  refuse,
  refuseStrictTools,
  thinkingBudget,
} from "../conversation/request_limits.ts";

/**
 * Writes a request of Bedrock's Converse; the model is in the path.
 * @throws {UntranslatableError}
 */
export function writeConverseRequest(request: ChatRequest): JsonObject {
  refuse(request, "seed", "frequencyPenalty", "presencePenalty", "topK");
  refuseStrictTools(request);
  const { format, toolChoice, maxTokens, temperature, topP, stop } = request;
  const tools = [...request.tools, ...formatTool(request)];
  if (toolChoice === "none" && tools.length > 0) {
    throw noCounterpart("tool_choice: none");
  }
  const inferenceConfig = {
    ...(maxTokens !== undefined && { maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(stop.length > 0 && { stopSequences: stop }),
  };
  const choice = format === undefined ? toolChoice : { name: FORMAT_TOOL };
  return {
    messages: request.turns.map(({ role, parts }) => ({
      role,
      content: parts.map(writePart),
    })),
    ...(request.system.length > 0 && {
      system: request.system.map((text) => ({ text })),
    }),
    ...(Object.keys(inferenceConfig).length > 0 && { inferenceConfig }),
    ...(tools.length > 0 && {
      toolConfig: {
        tools: tools.map(({ name, description, schema }) => ({
          toolSpec: {
            name,
            ...(description !== undefined && { description }),
            inputSchema: { json: schema },
          },
        })),
        ...(choice !== undefined && choice !== "none" && {
          toolChoice: typeof choice === "object"
            ? { tool: { name: choice.name } }
            : choice === "required"
            ? { any: {} }
            : { auto: {} },
        }),
      },
    }),
    ...writeReasoning(request),
    ...(request.user !== undefined &&
      { requestMetadata: { user: request.user } }),
  };
}

/** Only Claude has a field for reasoning; that of other models is their own. */
function writeReasoning(
  { model, reasoningTokens, format, maxTokens }: ChatRequest,
): JsonObject {
  if (reasoningTokens === undefined || reasoningTokens === 0) return {};
  if (!model.includes("anthropic.") || format !== undefined) {
    throw noCounterpart("reasoning_effort");
  }
  return {
    additionalModelRequestFields: {
      thinking: {
        type: "enabled",
        budget_tokens: thinkingBudget(reasoningTokens, maxTokens),
      },
    },
  };
}

function writePart(part: Part): JsonObject {
  switch (part.type) {
    case "text":
      return { text: part.text };
    case "image":
      return writeImage(part);
    case "toolCall":
      return {
        toolUse: { toolUseId: part.id, name: part.name, input: part.input },
      };
    case "toolResult":
      return {
        toolResult: {
          toolUseId: part.id,
          content: part.content.map(writePart),
          ...(part.isError && { status: "error" }),
        },
      };
    case "thinking":
      return {
        reasoningContent: {
          reasoningText: { text: part.text, signature: part.signature },
        },
      };
  }
}

function writeImage({ source }: ImagePart): JsonObject {
  if ("url" in source) throw noCounterpart("image_url that is no data: URL");
  const format = source.mediaType.replace(/^image\//, "");
  return { image: { format, source: { bytes: source.data } } };
}
