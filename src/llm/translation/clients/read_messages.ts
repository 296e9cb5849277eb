import type { JsonObject } from "../../../base/json.ts";
import type {
  ChatRequest,
  ImagePart,
  Part,
  TextPart,
  Tool,
  ToolChoice,
  Turn,
} from "../conversation/conversation.ts";
import { FieldReader, noCounterpart } from "../conversation/field_reader.ts";

/** Tokens for reasoning of `adaptive` thinking, which leaves the number to the model. */
const ADAPTIVE_TOKENS = 8192;

/**
 * Reads a request of Anthropic's messages. Marks for the prompt cache have no effect on the answer: other providers cache by
 * themselves.
 * @throws {UntranslatableError}
 */
export function readMessagesRequest(body: JsonObject): ChatRequest {
  const fields = new FieldReader(body);
  const choice = fields.object("tool_choice");
  const disabled = choice?.boolean("disable_parallel_tool_use");
  const metadata = fields.object("metadata");
  const request: ChatRequest = {
    model: fields.required("model", fields.text("model")),
    system: readSystem(fields),
    turns: fields.objects("messages").map(readTurn),
    tools: fields.objects("tools").map(readTool),
    toolChoice: choice && readToolChoice(choice),
    parallelCalls: disabled === undefined ? undefined : !disabled,
    maxTokens: fields.number("max_tokens"),
    temperature: fields.number("temperature"),
    topP: fields.number("top_p"),
    topK: fields.number("top_k"),
    stop: (fields.list("stop_sequences") ?? []).map(String),
    seed: undefined,
    frequencyPenalty: undefined,
    presencePenalty: undefined,
    format: readFormat(fields),
    reasoningTokens: readThinking(fields),
    user: metadata?.text("user_id"),
    stream: fields.boolean("stream") ?? false,
    includeUsage: true,
  };
  metadata?.end();
  fields.accept("service_tier", "auto", "standard_only");
  fields.ignore("cache_control");
  fields.end();
  return request;
}

function readSystem(fields: FieldReader): readonly string[] {
  const system = fields.value("system");
  if (system === undefined || system === "") return [];
  if (typeof system === "string") return [system];
  return fields.objects("system").map((block) => {
    block.accept("type", "text");
    block.ignore("cache_control");
    const text = block.required("text", block.text("text"));
    block.end();
    return text;
  });
}

function readTurn(message: FieldReader): Turn {
  const role = message.text("role");
  if (role !== "user" && role !== "assistant") {
    throw noCounterpart(message.at("role"));
  }
  const content = message.value("content");
  const parts: readonly Part[] = typeof content === "string"
    ? [{ type: "text", text: content }]
    : message.objects("content").flatMap(readBlock);
  message.end();
  return { role, parts };
}

function readBlock(block: FieldReader): readonly Part[] {
  block.ignore("cache_control");
  const type = block.text("type");
  switch (type) {
    case "text":
    case "image":
      return [readTextOrImage(block, type)];
    case "tool_use":
      return [{
        type: "toolCall",
        id: block.required("id", block.text("id")),
        name: block.required("name", block.text("name")),
        input: block.json("input") ?? {},
        signature: block.text("thought_signature"),
      }];
    case "tool_result":
      return [{
        type: "toolResult",
        id: block.required("tool_use_id", block.text("tool_use_id")),
        content: readResult(block),
        isError: block.boolean("is_error") ?? false,
      }];
    case "thinking":
      return [{
        type: "thinking",
        text: block.text("thinking") ?? "",
        signature: block.text("signature") ?? "",
      }];
    default:
      throw noCounterpart(`${block.at("type")}: ${type}`);
  }
}

function readTextOrImage(
  block: FieldReader,
  type: "text" | "image",
): TextPart | ImagePart {
  block.ignore("citations");
  if (type === "text") {
    const text = block.required("text", block.text("text"));
    block.end();
    return { type, text };
  }
  const source = block.required("source", block.object("source"));
  const kind = source.text("type");
  if (kind === "url") {
    return {
      type,
      source: { url: source.required("url", source.text("url")) },
    };
  }
  if (kind !== "base64") throw noCounterpart(source.at("type"));
  const mediaType = source.required("media_type", source.text("media_type"));
  const data = source.required("data", source.text("data"));
  return { type, source: { mediaType, data } };
}

function readResult(block: FieldReader): readonly (TextPart | ImagePart)[] {
  const content = block.value("content");
  if (content === undefined || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return block.objects("content").map((part) => {
    part.ignore("cache_control");
    const type = part.text("type");
    if (type === "text" || type === "image") return readTextOrImage(part, type);
    throw noCounterpart(`${part.at("type")}: ${type}`);
  });
}

function readTool(tool: FieldReader): Tool {
  tool.accept("type", "custom");
  tool.ignore("cache_control");
  const read = {
    name: tool.required("name", tool.text("name")),
    description: tool.text("description"),
    schema: tool.required("input_schema", tool.json("input_schema")),
    strict: tool.boolean("strict") ?? false,
  };
  tool.end();
  return read;
}

function readToolChoice(choice: FieldReader): ToolChoice {
  const type = choice.text("type");
  if (type === "auto" || type === "none") return type;
  if (type === "any") return "required";
  if (type !== "tool") throw noCounterpart(choice.at("type"));
  return { name: choice.required("name", choice.text("name")) };
}

function readFormat(fields: FieldReader): ChatRequest["format"] {
  const config = fields.object("output_config");
  const format = config?.object("format");
  config?.end();
  if (format === undefined) return undefined;
  format.accept("type", "json_schema");
  return { schema: format.required("schema", format.json("schema")) };
}

function readThinking(fields: FieldReader): number | undefined {
  const thinking = fields.object("thinking");
  const type = thinking?.text("type");
  if (thinking === undefined) return undefined;
  if (type === "disabled") return 0;
  if (type === "adaptive") return ADAPTIVE_TOKENS;
  return thinking.required("budget_tokens", thinking.number("budget_tokens"));
}
