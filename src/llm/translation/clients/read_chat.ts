import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { BoundedJson } from "../../../base/json/bounded_json.ts";
import { MAX_QUOTED_VALUES } from "../conversation/answer_format.ts";
import type {
  AnswerFormat,
  CacheMark,
  ChatRequest,
  ContentPart,
  FieldNames,
  Part,
  Reasoning,
  TextPart,
  Tool,
  ToolChoice,
  Turn,
} from "../conversation/conversation.ts";
import { FieldReader } from "../conversation/field_reader.ts";
import { splitCallId } from "../conversation/fitted_names.ts";
import {
  type Losses,
  malformed,
  noCounterpart,
} from "../conversation/losses.ts";
import { readEffort } from "../conversation/reasoning.ts";
import { readFile, readImageUrl } from "./content_parts.ts";

const names: FieldNames = {
  cache: "cache_control",
  format: "response_format",
  frequencyPenalty: "frequency_penalty",
  parallelCalls: "parallel_tool_calls",
  presencePenalty: "presence_penalty",
  reasoning: "reasoning_effort",
  seed: "seed",
  strict: "tools[].function.strict",
  temperature: "temperature",
  topK: "top_k",
  topP: "top_p",
  user: "user",
};

/** Fields that only say how OpenAI and routers handle a request: what it costs, who sees it, how long it is kept; and their defaults. */
const hints = {
  clear_thinking: [],
  include_reasoning: [true],
  metadata: [{}],
  prediction: [],
  prompt_cache_key: [],
  prompt_cache_options: [],
  prompt_cache_retention: [],
  provider: [],
  reasoning_format: [],
  service_tier: ["auto", "default"],
  store: [false],
  thinking: [],
  transforms: [],
  usage: [],
  verbosity: ["medium"],
} as const;

/**
 * Reads a request of OpenAI's chat completions.
 * @throws {UntranslatableError}
 */
export function readChatRequest(body: JsonObject, losses: Losses): ChatRequest {
  const fields = new FieldReader(body, losses);
  const { system, turns } = readMessages(fields);
  const options = fields.object("stream_options");
  const stop = fields.value("stop");
  const user = fields.text("user");
  const request: ChatRequest = {
    model: fields.required("model", fields.text("model")),
    system,
    turns,
    tools: fields.objects("tools").map(readTool),
    toolChoice: readToolChoice(fields),
    parallelCalls: fields.boolean("parallel_tool_calls"),
    maxTokens: fields.number("max_completion_tokens") ??
      fields.number("max_tokens"),
    temperature: fields.number("temperature"),
    topP: fields.number("top_p"),
    topK: fields.number("top_k"),
    stop: stop === undefined ? [] : readStop(stop),
    seed: fields.number("seed"),
    frequencyPenalty: fields.number("frequency_penalty") || undefined,
    presencePenalty: fields.number("presence_penalty") || undefined,
    format: readFormat(fields),
    reasoning: readReasoning(fields),
    user: fields.text("safety_identifier") ?? user,
    stream: fields.boolean("stream") ?? false,
    includeUsage: options?.boolean("include_usage") ?? false,
    names,
  };
  options?.ignore("include_obfuscation");
  options?.end();
  fields.ignore("max_tokens");
  fields.accept("n", 1);
  fields.accept("logprobs", false);
  fields.accept("top_logprobs", 0);
  fields.accept("logit_bias", {});
  fields.accept("modalities", ["text"]);
  fields.hints(hints);
  fields.end();
  return request;
}

function readMessages(
  fields: FieldReader,
): Pick<ChatRequest, "system" | "turns"> {
  const system: TextPart[] = [];
  const turns: { role: Turn["role"]; parts: Part[] }[] = [];
  const json = new BoundedJson(MAX_QUOTED_VALUES);
  for (const message of fields.objects("messages")) {
    const role = message.text("role");
    message.hint("name");
    // Of servers that let the model go on with a message.
    message.accept("prefix", false);
    const cache = message.cache();
    const isSystem = role === "system" || role === "developer";
    const parts = marked(
      isSystem ? textsOf(message) : readParts(message, role, json),
      cache,
    );
    message.end();
    const side = isSystem
      ? "system"
      : role === "assistant"
      ? "assistant"
      : "user";
    const last = turns.at(-1);
    if (isSystem && turns.length === 0) {
      system.push(...parts.filter((part) => part.type === "text"));
    } else if (last?.role === side) last.parts.push(...parts);
    else turns.push({ role: side, parts: [...parts] });
  }
  return { system, turns };
}

/** Puts a mark of a whole message on its last part. */
function marked(
  parts: readonly Part[],
  cache: CacheMark | undefined,
): readonly Part[] {
  const last = parts.at(-1);
  if (cache === undefined || last === undefined || last.type === "thinking") {
    return parts;
  }
  return [...parts.slice(0, -1), { ...last, cache }];
}

function readParts(
  message: FieldReader,
  role: string | undefined,
  json: BoundedJson,
): readonly Part[] {
  if (role === "user") return readContent(message);
  if (role === "tool") {
    const id = message.required("tool_call_id", message.text("tool_call_id"));
    const content = readContent(message);
    return [{
      type: "toolResult",
      id: splitCallId(id).id,
      content,
      isError: false,
    }];
  }
  if (role !== "assistant") throw noCounterpart(message.at("role"));
  // The reasoning is in `thinking_blocks` with its signature.
  message.ignore("reasoning_content", "reasoning", "reasoning_details");
  message.ignore("annotations");
  const refusal = message.text("refusal");
  message.accept("audio");
  message.accept("function_call");
  return [
    ...message.objects("thinking_blocks").map(readThinking),
    ...readContent(message),
    ...(refusal === undefined
      ? []
      : [{ type: "text", text: refusal } as const]),
    ...message.objects("tool_calls").map((call) => readToolCall(call, json)),
  ];
}

function readThinking(block: FieldReader): Part {
  if (block.text("type") === "redacted_thinking") {
    const signature = block.text("data") ?? "";
    return { type: "thinking", text: "", signature, isRedacted: true };
  }
  return {
    type: "thinking",
    text: block.text("thinking") ?? "",
    signature: block.text("signature") ?? "",
  };
}

function readToolCall(call: FieldReader, json: BoundedJson): Part {
  call.accept("type", "function");
  const called = call.required("function", call.object("function"));
  const google = call.object("extra_content")?.object("google");
  const { id, signature } = splitCallId(call.required("id", call.text("id")));
  return {
    type: "toolCall",
    id,
    name: called.required("name", called.text("name")),
    input: readArguments(called, json),
    signature: google?.text("thought_signature") ?? signature,
  };
}

/**
 * Reads the arguments of a call, which are JSON in a string.
 * @throws {UntranslatableError}
 */
export function readArguments(
  called: FieldReader,
  json: BoundedJson,
): JsonObject {
  const text = called.text("arguments") ?? "";
  const input = text === "" ? {} : json.parse(text);
  if (isJsonObject(input)) return input;
  throw malformed(
    called.at("arguments"),
    `a JSON object in a string; all together have at most ${MAX_QUOTED_VALUES} values`,
  );
}

function readContent(message: FieldReader): readonly ContentPart[] {
  const content = message.value("content");
  if (content === undefined || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return message.objects("content").map((part) => {
    const breakpoint = part.object("prompt_cache_breakpoint");
    const cache = part.cache() ?? (breakpoint && { ttl: undefined });
    const read = readContentPart(part);
    part.end();
    return cache === undefined ? read : { ...read, cache };
  });
}

function readContentPart(part: FieldReader): ContentPart {
  const type = part.text("type");
  switch (type) {
    case "text":
      return { type, text: part.required("text", part.text("text")) };
    case "refusal":
      return { type: "text", text: part.text("refusal") ?? "" };
    case "image_url":
      return readImageUrl(
        part.required("image_url", part.object("image_url")),
        "url",
      );
    case "file":
      return readFile(part.required("file", part.object("file")));
    default:
      throw noCounterpart(`${part.at("type")}: ${type}`);
  }
}

function textsOf(message: FieldReader): readonly TextPart[] {
  return readContent(message).map((part) => {
    if (part.type === "text") return part;
    throw noCounterpart(message.at("content"));
  });
}

function readStop(stop: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(stop) ? stop : [stop];
  if (list.every((each) => typeof each === "string")) return list;
  throw malformed("stop", "a string or a list of strings");
}

function readTool(tool: FieldReader): Tool {
  const type = tool.text("type");
  if (type !== undefined && type !== "function") {
    throw noCounterpart(`${tool.at("type")}: ${type}`);
  }
  const called = tool.required("function", tool.object("function"));
  const read = {
    name: called.required("name", called.text("name")),
    description: called.text("description"),
    schema: called.json("parameters") ?? { type: "object", properties: {} },
    strict: called.boolean("strict") ?? false,
    cache: tool.cache() ?? called.cache(),
  };
  tool.hint("eager_input_streaming");
  called.end();
  tool.end();
  return read;
}

function readToolChoice(fields: FieldReader): ToolChoice | undefined {
  const choice = fields.value("tool_choice");
  if (
    choice === undefined || choice === "auto" || choice === "none" ||
    choice === "required"
  ) return choice;
  // Of Mistral.
  if (choice === "any") return "required";
  if (typeof choice === "string") throw noCounterpart("tool_choice");
  const read = fields.required("tool_choice", fields.object("tool_choice"));
  read.accept("type", "function");
  const called = read.required("function", read.object("function"));
  return { name: called.required("name", called.text("name")) };
}

function readFormat(fields: FieldReader): AnswerFormat | undefined {
  const format = fields.object("response_format");
  const type = format?.text("type");
  if (format === undefined || type === "text") return undefined;
  if (type === "json_object") return { schema: undefined };
  if (type !== "json_schema") throw noCounterpart("response_format");
  const schema = format.required("json_schema", format.object("json_schema"));
  return {
    name: schema.text("name"),
    schema: schema.required("schema", schema.json("schema")),
  };
}

/** Reads OpenAI's field, or that of OpenRouter. */
function readReasoning(fields: FieldReader): Reasoning | undefined {
  const router = fields.object("reasoning");
  const text = fields.text("reasoning_effort") ?? router?.text("effort");
  const tokens = router?.number("max_tokens");
  const isDefault = text === "default";
  const isOff = router?.boolean("enabled") === false;
  router?.ignore("exclude", "summary");
  router?.end();
  const effort = isOff ? "none" : readEffort(text);
  if (text !== undefined && effort === undefined && !isDefault) {
    throw noCounterpart(`reasoning_effort: ${text.slice(0, 32)}`);
  }
  return effort === undefined && tokens === undefined
    ? undefined
    : { effort, tokens };
}
