import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { BoundedJson } from "../../../base/json/bounded_json.ts";
import {
  dropHints,
  dropStrict,
  MAX_QUOTED_VALUES,
} from "../conversation/answer_format.ts";
import type {
  ChatRequest,
  DocumentPart,
  ImagePart,
  Part,
  ToolResultPart,
} from "../conversation/conversation.ts";
import { fitTurns, hasMarks } from "../conversation/fitted_turns.ts";
import type { Losses } from "../conversation/losses.ts";
import { geminiFacts } from "../conversation/model_facts.ts";
import {
  effortFor,
  nearestEffort,
  tokensFor,
} from "../conversation/reasoning.ts";
import { toGeminiSchema } from "./gemini_schema.ts";
import { mediaTypeOf } from "./media_types.ts";

/** Stands for the signature of a call that another provider has made; models from Gemini 3 on require one (ai.google.dev, thought signatures). */
const NO_SIGNATURE = "skip_thought_signature_validator";

/**
 * Writes a request of Gemini's `generateContent`.
 * @throws {UntranslatableError}
 */
export function writeGeminiRequest(
  request: ChatRequest,
  losses: Losses,
): JsonObject {
  const { format, tools, names, parallelCalls } = request;
  dropHints(request, losses, "user");
  dropStrict(request, losses);
  if (parallelCalls === false) {
    losses.drop(names.parallelCalls ?? "parallelCalls");
  }
  // Gemini caches by itself.
  if (hasMarks(request)) losses.note(names.cache ?? "cache");
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
      ...(format.schema &&
        { responseJsonSchema: toGeminiSchema(format.schema) }),
    }),
    ...writeReasoning(request, losses),
  };
  return {
    ...(request.system.length > 0 && {
      systemInstruction: {
        parts: request.system.map(({ text }) => ({ text })),
      },
    }),
    ...(tools.length > 0 && {
      tools: [{
        functionDeclarations: tools.map(({ name, description, schema }) => ({
          name,
          ...(description && { description }),
          parametersJsonSchema: toGeminiSchema(schema),
        })),
      }],
    }),
    ...writeToolConfig(request),
    contents: writeContents(request, losses),
    ...(Object.keys(config).length > 0 && { generationConfig: config }),
  };
}

function writeReasoning(
  { model, reasoning, names }: ChatRequest,
  losses: Losses,
): JsonObject {
  if (reasoning === undefined) return {};
  const { levels, minTokens } = geminiFacts(model);
  const effort = effortFor(reasoning);
  if (levels === undefined) {
    const tokens = Math.max(minTokens, tokensFor(reasoning));
    return {
      thinkingConfig: {
        thinkingBudget: tokens,
        ...(effort !== "none" && { includeThoughts: true }),
      },
    };
  }
  const level = nearestEffort(effort, levels);
  if (level !== effort && reasoning.effort !== undefined) {
    losses.drop(names.reasoning ?? "reasoning");
  }
  return {
    thinkingConfig: {
      ...(level && { thinkingLevel: level.toUpperCase() }),
      ...(effort !== "none" && { includeThoughts: true }),
    },
  };
}

function writeContents(
  { turns, model }: ChatRequest,
  losses: Losses,
): readonly JsonObject[] {
  const toolNames = new Map(
    turns.flatMap(({ parts }) =>
      parts.flatMap((part) =>
        part.type === "toolCall" ? [[part.id, part.name] as const] : []
      )
    ),
  );
  const json = new BoundedJson(MAX_QUOTED_VALUES);
  const needsSignature = geminiFacts(model).levels !== undefined;
  return fitTurns(turns, {}).map(({ role, parts }) => {
    const first = parts.find(({ type }) => type === "toolCall");
    return {
      role: role === "assistant" ? "model" : "user",
      parts: parts.flatMap((part) =>
        writePart(part, {
          losses,
          toolNames,
          json,
          // Of several calls at once, only the first has a signature.
          signature: needsSignature && part === first
            ? NO_SIGNATURE
            : undefined,
        })
      ),
    };
  });
}

interface PartContext {
  readonly losses: Losses;
  readonly toolNames: ReadonlyMap<string, string>;
  readonly json: BoundedJson;
  /** For a call that has none. */
  readonly signature: string | undefined;
}

function writePart(part: Part, context: PartContext): readonly JsonObject[] {
  switch (part.type) {
    case "text":
      return [{ text: part.text }];
    case "document":
      if (part.name !== undefined) context.losses.note("filename");
      return [writeMedia(part)];
    case "image":
      return [writeMedia(part)];
    case "toolCall": {
      const { id, name, input, signature = context.signature } = part;
      return [{
        functionCall: { id, name, args: input },
        ...(signature !== undefined && { thoughtSignature: signature }),
      }];
    }
    case "toolResult":
      return writeResult(part, context);
    case "thinking":
      // Gemini takes back signatures of calls only.
      context.losses.note("reasoning of earlier turns");
      return [];
  }
}

function writeMedia({ type, source }: ImagePart | DocumentPart): JsonObject {
  if ("data" in source) {
    return { inlineData: { mimeType: source.mediaType, data: source.data } };
  }
  const mimeType = mediaTypeOf(source.url) ??
    (type === "image" ? "image/jpeg" : "application/pdf");
  return { fileData: { fileUri: source.url, mimeType } };
}

function writeResult(
  { id, content, isError }: ToolResultPart,
  { toolNames, json }: PartContext,
): readonly JsonObject[] {
  const text = content.map((part) => part.type === "text" ? part.text : "")
    .join("");
  const media = content.filter((part) => part.type !== "text");
  const value = json.parse(text);
  const response = isError
    ? { error: text }
    : isJsonObject(value)
    ? value
    : { result: text };
  const name = toolNames.get(id) ?? id;
  return [
    { functionResponse: { id, name, response } },
    ...media.map(writeMedia),
  ];
}

function writeToolConfig({ toolChoice, tools }: ChatRequest): JsonObject {
  if (toolChoice === undefined || tools.length === 0) return {};
  const functionCallingConfig = typeof toolChoice === "object"
    ? { mode: "ANY", allowedFunctionNames: [toolChoice.name] }
    : { mode: { auto: "AUTO", none: "NONE", required: "ANY" }[toolChoice] };
  return { toolConfig: { functionCallingConfig } };
}
