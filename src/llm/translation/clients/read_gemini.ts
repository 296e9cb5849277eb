import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import type {
  AnswerFormat,
  ChatRequest,
  FieldNames,
  Part,
  Reasoning,
  TextPart,
  Tool,
  ToolChoice,
  Turn,
} from "../conversation/conversation.ts";
import { FieldReader } from "../conversation/field_reader.ts";
import { type Losses, noCounterpart } from "../conversation/losses.ts";
import { readEffort } from "../conversation/reasoning.ts";
import { readFileData, readInlineData } from "./gemini_media.ts";
import { camelKeys, toJsonSchema } from "./google_schema.ts";

const names: FieldNames = {
  format: "generationConfig.responseMimeType",
  frequencyPenalty: "generationConfig.frequencyPenalty",
  presencePenalty: "generationConfig.presencePenalty",
  reasoning: "generationConfig.thinkingConfig",
  seed: "generationConfig.seed",
  temperature: "generationConfig.temperature",
  topK: "generationConfig.topK",
  topP: "generationConfig.topP",
};

/**
 * Reads a request of Gemini's `generateContent`; settings of a backend are at its top, under OpenAI's names.
 * @throws {UntranslatableError}
 */
export function readGeminiRequest(
  body: JsonObject,
  losses: Losses,
  stream: boolean,
): ChatRequest {
  const fields = new FieldReader(camelKeys(withLists(body)), losses);
  const config = fields.object("generationConfig") ??
    new FieldReader({}, losses);
  const { tools, toolChoice } = readTools(fields);
  const request: ChatRequest = {
    model: fields.required("model", fields.text("model")),
    system: readSystem(fields),
    turns: readTurns(fields),
    tools,
    toolChoice,
    parallelCalls: undefined,
    maxTokens: fields.number("maxTokens") ??
      fields.number("maxCompletionTokens") ?? config.number("maxOutputTokens"),
    temperature: fields.number("temperature") ?? config.number("temperature"),
    topP: fields.number("topP") ?? config.number("topP"),
    topK: config.number("topK"),
    stop: (config.list("stopSequences") ?? []).map(String),
    seed: config.number("seed"),
    frequencyPenalty: config.number("frequencyPenalty") || undefined,
    presencePenalty: config.number("presencePenalty") || undefined,
    format: readFormat(config),
    reasoning: readReasoning(config),
    user: undefined,
    stream,
    includeUsage: true,
    names,
  };
  config.ignore("maxOutputTokens", "temperature", "topP");
  config.accept("candidateCount", 1);
  config.accept("responseLogprobs", false);
  config.accept("responseModalities", ["TEXT"]);
  config.hint("mediaResolution", "enableEnhancedCivicAnswers");
  config.end();
  readSafety(fields);
  fields.hint("labels");
  fields.ignore("stream");
  fields.end();
  return request;
}

/** Google takes one object for a list of one. */
function withLists(body: JsonObject): JsonObject {
  const { tools } = body;
  return isJsonObject(tools) ? { ...body, tools: [tools] } : body;
}

/** Others filter nothing that a client could ask them not to. */
function readSafety(fields: FieldReader): void {
  const isOff = fields.objects("safetySettings").every((setting) =>
    ["BLOCK_NONE", "OFF"].includes(setting.text("threshold") ?? "")
  );
  if (!isOff) throw noCounterpart(fields.at("safetySettings"));
}

function readSystem(fields: FieldReader): readonly TextPart[] {
  const content = fields.object("systemInstruction");
  return (content?.objects("parts") ?? []).map((part) => ({
    type: "text",
    text: part.required("text", part.text("text")),
  }));
}

/** Numbers calls that have no id, and finds the calls of results by id, or by name and order. */
class CallIds {
  #count = 0;
  readonly #open: { readonly id: string; readonly name: string }[] = [];

  begin(id: string | undefined, name: string): string {
    const call = { id: id ?? `call_${++this.#count}`, name };
    this.#open.push(call);
    return call.id;
  }

  end(id: string | undefined, name: string): string {
    const index = this.#open.findIndex((call) =>
      id === undefined ? call.name === name : call.id === id
    );
    const [call] = index < 0 ? [] : this.#open.splice(index, 1);
    return call?.id ?? id ?? name;
  }
}

function readTurns(fields: FieldReader): readonly Turn[] {
  const ids = new CallIds();
  return fields.objects("contents").map((content) => {
    const role = content.text("role");
    const isModel = role === "model";
    if (
      !isModel && role !== undefined && role !== "user" && role !== "function"
    ) {
      throw noCounterpart(content.at("role"));
    }
    const parts = content.objects("parts").map((part) => readPart(part, ids));
    content.end();
    return { role: isModel ? "assistant" : "user", parts: joined(parts) };
  });
}

/** Joins reasoning that was streamed in pieces; the signature is on the last one. */
function joined(parts: readonly Part[]): readonly Part[] {
  const result: Part[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    if (
      part.type === "thinking" && last?.type === "thinking" &&
      last.signature === ""
    ) {
      const { signature } = part;
      result.splice(-1, 1, { ...part, text: last.text + part.text, signature });
    } else result.push(part);
  }
  return result;
}

function readPart(part: FieldReader, ids: CallIds): Part {
  const signature = part.text("thoughtSignature");
  const call = part.object("functionCall");
  const result = part.object("functionResponse");
  const inline = part.object("inlineData");
  const file = part.object("fileData");
  const isThought = part.boolean("thought") ?? false;
  const text = part.text("text");
  part.end();
  if (call !== undefined) {
    const name = call.required("name", call.text("name"));
    return {
      type: "toolCall",
      id: ids.begin(call.text("id"), name),
      name,
      input: call.json("args") ?? {},
      ...(signature && { signature }),
    };
  }
  if (result !== undefined) return readResult(result, ids);
  if (inline !== undefined) return readInlineData(inline);
  if (file !== undefined) return readFileData(file);
  return isThought
    ? { type: "thinking", text: text ?? "", signature: signature ?? "" }
    : { type: "text", text: text ?? "" };
}

function readResult(result: FieldReader, ids: CallIds): Part {
  const name = result.required("name", result.text("name"));
  const response = result.json("response") ?? {};
  const { error } = response;
  const [[key, value] = []] = Object.entries(response);
  const isPlain = Object.keys(response).length === 1 &&
    typeof value === "string" &&
    ["error", "output", "result"].includes(key ?? "");
  const text = isPlain ? String(value) : JSON.stringify(response);
  return {
    type: "toolResult",
    id: ids.end(result.text("id"), name),
    content: text === "{}" ? [] : [{ type: "text", text }],
    isError: error !== undefined,
  };
}

function readTools(
  fields: FieldReader,
): {
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | undefined;
} {
  const tools = fields.objects("tools").flatMap((tool) => {
    const declared = tool.objects("functionDeclarations").map(readTool);
    tool.end();
    return declared;
  });
  const config = fields.object("toolConfig");
  const calling = config?.object("functionCallingConfig");
  config?.hint("retrievalConfig");
  config?.end();
  const mode = calling?.text("mode")?.toUpperCase();
  const allowed = calling?.list("allowedFunctionNames")?.map(String) ?? [];
  if (mode === undefined) return { tools, toolChoice: undefined };
  const isForced = mode === "ANY";
  const [only, ...others] = allowed;
  if (isForced && only !== undefined && others.length === 0) {
    return { tools, toolChoice: { name: only } };
  }
  const choice = isForced ? "required" : mode === "NONE" ? "none" : "auto";
  return {
    tools: allowed.length === 0
      ? tools
      : tools.filter(({ name }) => allowed.includes(name)),
    toolChoice: choice,
  };
}

function readTool(tool: FieldReader): Tool {
  const schema = tool.json("parametersJsonSchema") ?? tool.json("parameters");
  const read = {
    name: tool.required("name", tool.text("name")),
    description: tool.text("description"),
    schema: schema === undefined
      ? { type: "object", properties: {} }
      : toJsonSchema(schema),
    strict: false,
  };
  // Both say how the result looks, or when it comes.
  tool.hint("response", "responseJsonSchema");
  tool.hints({ behavior: ["BLOCKING"] });
  tool.ignore("parameters");
  tool.end();
  return read;
}

function readFormat(config: FieldReader): AnswerFormat | undefined {
  const type = config.text("responseMimeType");
  const schema = config.json("responseJsonSchema") ??
    config.json("responseSchema");
  config.ignore("responseSchema");
  if (type === undefined || type === "text/plain") return undefined;
  if (type !== "application/json") {
    throw noCounterpart(config.at("responseMimeType"));
  }
  return { schema: isJsonObject(schema) ? toJsonSchema(schema) : undefined };
}

function readReasoning(config: FieldReader): Reasoning | undefined {
  const thinking = config.object("thinkingConfig");
  const level = thinking?.text("thinkingLevel")?.toLowerCase();
  const budget = thinking?.number("thinkingBudget");
  const isShown = thinking?.boolean("includeThoughts") ?? false;
  thinking?.end();
  const effort = readEffort(level);
  // A budget of -1 leaves it to the model.
  const tokens = budget === undefined || budget < 0 ? undefined : budget;
  if (effort === undefined && tokens === undefined) return undefined;
  return { effort: tokens === 0 ? "none" : effort, tokens, isShown };
}
