import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../base/json.ts";
import { BoundedJson } from "../../base/json/bounded_json.ts";
import { countOf, objectOf, objectsOf, unknownForm } from "./answer_fields.ts";
import type {
  AnswerEvent,
  AnswerReader,
  ChatRequest,
  FinishReason,
  ImagePart,
  Part,
  ToolResultPart,
} from "./conversation.ts";
import { noCounterpart } from "./field_reader.ts";
import {
  MAX_QUOTED_VALUES,
  refuse,
  refuseStrictTools,
} from "./request_limits.ts";

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

/** Parts that only tools of Google, files or sound have. */
const unknownParts = ["executableCode", "codeExecutionResult", "fileData"];

function readImage(image: JsonObject): AnswerEvent {
  const type = stringMember(image, "mimeType") ?? "";
  if (!type.startsWith("image/")) throw unknownForm(`content of type ${type}`);
  const data = stringMember(image, "data") ?? "";
  return { type: "image", url: `data:${type};base64,${data}` };
}

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
]);

/** Reads answers of Gemini; each event of a stream is a whole answer with the next parts. */
export class GeminiReader implements AnswerReader {
  #hasStarted = false;
  #calls = 0;
  #usage: JsonObject | undefined;
  #finish: FinishReason | undefined;

  whole(answer: JsonObject): readonly AnswerEvent[] {
    return [...this.event(answer), ...this.end()];
  }

  event(answer: JsonObject): readonly AnswerEvent[] {
    const error = answer["error"];
    if (isJsonObject(error)) {
      const message = stringMember(error, "message") ?? "unknown error";
      return [{
        type: "error",
        status: countOf(error, "code") || 500,
        message,
      }];
    }
    const [candidate = {}] = objectsOf(answer, "candidates");
    const parts = objectsOf(objectOf(candidate, "content"), "parts");
    const events = [
      ...this.#start(answer),
      ...parts.flatMap((part) => this.#readPart(part)),
    ];
    if (isJsonObject(answer["usageMetadata"])) {
      this.#usage = answer["usageMetadata"];
    }
    const reason = stringMember(candidate, "finishReason");
    if (reason !== undefined) {
      this.#finish = finishReasons.get(reason) ?? "contentFilter";
    } else if (
      objectOf(answer, "promptFeedback")["blockReason"] !== undefined
    ) {
      this.#finish = "contentFilter";
    }
    return events;
  }

  end(): readonly AnswerEvent[] {
    const usage = this.#usage ?? {};
    const reasoning = countOf(usage, "thoughtsTokenCount");
    const finish: AnswerEvent[] = this.#finish === undefined ? [] : [{
      type: "finish",
      reason: this.#finish === "stop" && this.#calls > 0
        ? "toolCalls"
        : this.#finish,
    }];
    return [{
      type: "usage",
      usage: {
        input: countOf(usage, "promptTokenCount") +
          countOf(usage, "toolUsePromptTokenCount"),
        cachedInput: countOf(usage, "cachedContentTokenCount"),
        cacheWrite: 0,
        output: countOf(usage, "candidatesTokenCount") + reasoning,
        reasoning,
      },
    }, ...finish];
  }

  #start(answer: JsonObject): readonly AnswerEvent[] {
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    return [{
      type: "start",
      id: stringMember(answer, "responseId") ?? "",
      model: stringMember(answer, "modelVersion") ?? "",
    }];
  }

  #readPart(part: JsonObject): readonly AnswerEvent[] {
    const call = part["functionCall"];
    if (isJsonObject(call)) {
      const name = stringMember(call, "name") ?? "";
      this.#calls++;
      return [
        {
          type: "toolCall",
          id: stringMember(call, "id") ?? `call_${this.#calls}_${name}`,
          name,
          signature: stringMember(part, "thoughtSignature"),
        },
        { type: "toolInput", json: JSON.stringify(call["args"] ?? {}) },
      ];
    }
    const image = part["inlineData"];
    if (isJsonObject(image)) return [readImage(image)];
    const unknown = unknownParts.find((name) => part[name] !== undefined);
    if (unknown !== undefined) throw unknownForm(`content "${unknown}"`);
    const text = stringMember(part, "text");
    if (text === undefined || text === "") return [];
    return [{ type: part["thought"] === true ? "thinking" : "text", text }];
  }
}
