import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { BoundedJson } from "../../../base/json/bounded_json.ts";
import type {
  AnswerFormat,
  ChatRequest,
  ImagePart,
  Part,
  TextPart,
  Tool,
  ToolChoice,
  Turn,
} from "../conversation/conversation.ts";
import { UntranslatableError } from "../conversation/conversation.ts";
import {
  FieldReader,
  malformed,
  noCounterpart,
} from "../conversation/field_reader.ts";
import { MAX_QUOTED_VALUES } from "../conversation/request_limits.ts";

/** Tokens for reasoning by OpenAI's `reasoning_effort`, as Google's own translation has them. */
const reasoningTokens: ReadonlyMap<string, number> = new Map([
  ["none", 0],
  ["minimal", 1024],
  ["low", 1024],
  ["medium", 8192],
  ["high", 24576],
]);

/**
 * Reads a request of OpenAI's chat completions.
 * @throws {UntranslatableError}
 */
export function readChatRequest(body: JsonObject): ChatRequest {
  const fields = new FieldReader(body);
  const { system, turns } = readMessages(fields);
  const options = fields.object("stream_options");
  const stop = fields.value("stop");
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
    topK: undefined,
    stop: stop === undefined ? [] : readStop(stop),
    seed: fields.number("seed"),
    frequencyPenalty: fields.number("frequency_penalty") || undefined,
    presencePenalty: fields.number("presence_penalty") || undefined,
    format: readFormat(fields),
    reasoningTokens: readEffort(fields),
    user: fields.text("user") ?? fields.text("safety_identifier"),
    stream: fields.boolean("stream") ?? false,
    includeUsage: options?.boolean("include_usage") ?? false,
  };
  options?.accept("include_obfuscation", false);
  options?.end();
  fields.ignore("max_tokens", "safety_identifier");
  fields.accept("n", 1);
  fields.accept("logprobs", false);
  fields.accept("logit_bias", {});
  fields.accept("store", false);
  fields.accept("service_tier", "auto", "default");
  fields.accept("modalities", ["text"]);
  fields.end();
  return request;
}

function readMessages(
  fields: FieldReader,
): Pick<ChatRequest, "system" | "turns"> {
  const system: string[] = [];
  const turns: { role: Turn["role"]; parts: Part[] }[] = [];
  const json = new BoundedJson(MAX_QUOTED_VALUES);
  for (const message of fields.objects("messages")) {
    const role = message.text("role");
    if (role === "system" || role === "developer") {
      if (turns.length > 0) {
        throw new UntranslatableError(
          `"${
            message.at("role")
          }": a ${role} message after others has no counterpart at the provider of this model`,
        );
      }
      system.push(...textsOf(message));
      message.end();
      continue;
    }
    const parts = readParts(message, role, json);
    message.end();
    const side = role === "assistant" ? "assistant" : "user";
    const last = turns.at(-1);
    if (last?.role === side) last.parts.push(...parts);
    else turns.push({ role: side, parts: [...parts] });
  }
  return { system, turns };
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
    return [{ type: "toolResult", id, content, isError: false }];
  }
  if (role !== "assistant") throw noCounterpart(message.at("role"));
  message.ignore("reasoning_content", "annotations");
  const refusal = message.text("refusal");
  message.accept("audio");
  return [
    ...message.objects("thinking_blocks").map((block): Part => ({
      type: "thinking",
      text: block.text("thinking") ?? "",
      signature: block.text("signature") ?? "",
    })),
    ...readContent(message),
    ...(refusal === undefined
      ? []
      : [{ type: "text", text: refusal } as const]),
    ...message.objects("tool_calls").map((call) => readToolCall(call, json)),
  ];
}

function readToolCall(call: FieldReader, json: BoundedJson): Part {
  call.accept("type", "function");
  const called = call.required("function", call.object("function"));
  const text = called.text("arguments") ?? "";
  const input = text === "" ? {} : json.parse(text);
  if (!isJsonObject(input)) {
    throw malformed(
      called.at("arguments"),
      `a JSON object in a string; all together have at most ${MAX_QUOTED_VALUES} values`,
    );
  }
  const google = call.object("extra_content")?.object("google");
  return {
    type: "toolCall",
    id: call.required("id", call.text("id")),
    name: called.required("name", called.text("name")),
    input,
    signature: google?.text("thought_signature"),
  };
}

function readContent(message: FieldReader): readonly (TextPart | ImagePart)[] {
  const content = message.value("content");
  if (content === undefined || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return message.objects("content").map((part) => {
    const type = part.text("type");
    if (type === "text") {
      const text = part.required("text", part.text("text"));
      part.end();
      return { type: "text", text };
    }
    if (type === "refusal") {
      return { type: "text", text: part.text("refusal") ?? "" };
    }
    if (type !== "image_url") {
      throw noCounterpart(`${part.at("type")}: ${type}`);
    }
    const image = part.required("image_url", part.object("image_url"));
    image.accept("detail", "auto");
    return readImage(image.required("url", image.text("url")));
  });
}

const dataUrl = /^data:([\w.+-]+\/[\w.+-]+);base64,/;

function readImage(url: string): ImagePart {
  const [start, mediaType] = dataUrl.exec(url.slice(0, 256)) ?? [];
  const source = start === undefined || mediaType === undefined
    ? { url }
    : { mediaType, data: url.slice(start.length) };
  return { type: "image", source };
}

function textsOf(message: FieldReader): readonly string[] {
  return readContent(message).map((part) => {
    if (part.type === "text") return part.text;
    throw noCounterpart(message.at("content"));
  });
}

function readStop(stop: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(stop) ? stop : [stop];
  if (list.every((each) => typeof each === "string")) return list;
  throw malformed("stop", "a string or a list of strings");
}

function readTool(tool: FieldReader): Tool {
  tool.accept("type", "function");
  const called = tool.required("function", tool.object("function"));
  const read = {
    name: called.required("name", called.text("name")),
    description: called.text("description"),
    schema: called.json("parameters") ?? { type: "object", properties: {} },
    strict: called.boolean("strict") ?? false,
  };
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
  return { schema: schema.required("schema", schema.json("schema")) };
}

function readEffort(fields: FieldReader): number | undefined {
  const effort = fields.text("reasoning_effort");
  if (effort === undefined) return undefined;
  const tokens = reasoningTokens.get(effort);
  if (tokens !== undefined) return tokens;
  throw noCounterpart("reasoning_effort");
}
