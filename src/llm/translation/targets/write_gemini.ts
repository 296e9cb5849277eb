import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { BoundedJson } from "../../../base/json/bounded_json.ts";
import type {
  ChatRequest,
  ImagePart,
  Part,
  ToolResultPart,
} from "../conversation/conversation.ts";
import { noCounterpart } from "../conversation/field_reader.ts";
import {
  MAX_QUOTED_VALUES,
  refuse,
  refuseStrictTools,
} from "../conversation/request_limits.ts";

/**
 * Writes a request of Gemini's `generateContent`.
 * @throws {UntranslatableError}
 */
export function writeGeminiRequest(request: ChatRequest): JsonObject {
  refuse(request, "user");
  refuseStrictTools(request);
  const { format, tools, reasoningTokens } = request;
  const toolNames = new Map(
    request.turns.flatMap(({ parts }) =>
      parts.flatMap((part) =>
        part.type === "toolCall" ? [[part.id, part.name] as const] : []
      )
    ),
  );
  const json = new BoundedJson(MAX_QUOTED_VALUES);
  const config = {
    ...(request.maxTokens !== undefined &&
      { maxOutputTokens: request.maxTokens }),
    ...(request.temperature !== undefined &&
      { temperature: request.temperature }),
    ...(request.topP !== undefined && { topP: request.topP }),
    ...(request.topK !== undefined && { topK: request.topK }),
    ...(request.seed !== undefined && { seed: request.seed }),
    ...(request.frequencyPenalty !== undefined &&
      { frequencyPenalty: request.frequencyPenalty }),
    ...(request.presencePenalty !== undefined &&
      { presencePenalty: request.presencePenalty }),
    ...(request.stop.length > 0 && { stopSequences: request.stop }),
    ...(format !== undefined && {
      responseMimeType: "application/json",
      ...(format.schema && { responseJsonSchema: format.schema }),
    }),
    ...(reasoningTokens !== undefined && {
      thinkingConfig: {
        thinkingBudget: reasoningTokens,
        ...(reasoningTokens > 0 && { includeThoughts: true }),
      },
    }),
  };
  return {
    contents: request.turns.map(({ role, parts }) => ({
      role: role === "assistant" ? "model" : "user",
      parts: parts.flatMap((part) => writePart(part, toolNames, json)),
    })),
    ...(request.system.length > 0 && {
      systemInstruction: { parts: request.system.map((text) => ({ text })) },
    }),
    ...(tools.length > 0 && {
      tools: [{
        functionDeclarations: tools.map(({ name, description, schema }) => ({
          name,
          ...(description !== undefined && { description }),
          parametersJsonSchema: schema,
        })),
      }],
    }),
    ...writeToolConfig(request),
    ...(Object.keys(config).length > 0 && { generationConfig: config }),
  };
}

function writePart(
  part: Part,
  toolNames: ReadonlyMap<string, string>,
  json: BoundedJson,
): readonly JsonObject[] {
  switch (part.type) {
    case "text":
      return [{ text: part.text }];
    case "image":
      return [writeImage(part)];
    case "toolCall":
      return [{
        functionCall: { name: part.name, args: part.input },
        ...(part.signature !== undefined &&
          { thoughtSignature: part.signature }),
      }];
    case "toolResult":
      return writeResult(part, toolNames, json);
    case "thinking":
      // Gemini takes back signatures of calls only.
      return [];
  }
}

function writeImage({ source }: ImagePart): JsonObject {
  if ("url" in source) throw noCounterpart("image_url that is no data: URL");
  return { inlineData: { mimeType: source.mediaType, data: source.data } };
}

function writeResult(
  { id, content, isError }: ToolResultPart,
  toolNames: ReadonlyMap<string, string>,
  json: BoundedJson,
): readonly JsonObject[] {
  const text = content.map((part) => part.type === "text" ? part.text : "")
    .join("");
  const images = content.filter((part) => part.type === "image");
  const value = json.parse(text);
  const response = isError
    ? { error: text }
    : isJsonObject(value)
    ? value
    : { result: text };
  const name = toolNames.get(id) ?? id;
  return [
    { functionResponse: { name, response } },
    ...images.map(writeImage),
  ];
}

function writeToolConfig({ toolChoice, tools }: ChatRequest): JsonObject {
  if (toolChoice === undefined || tools.length === 0) return {};
  const functionCallingConfig = typeof toolChoice === "object"
    ? { mode: "ANY", allowedFunctionNames: [toolChoice.name] }
    : { mode: { auto: "AUTO", none: "NONE", required: "ANY" }[toolChoice] };
  return { toolConfig: { functionCallingConfig } };
}
