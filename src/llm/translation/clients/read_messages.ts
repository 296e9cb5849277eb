import type { JsonObject } from "../../../base/json.ts";
import type {
  AnswerFormat,
  ChatRequest,
  ContentPart,
  FieldNames,
  MediaSource,
  Part,
  Reasoning,
  TextPart,
  Tool,
  ToolChoice,
  Turn,
} from "../conversation/conversation.ts";
import { FieldReader } from "../conversation/field_reader.ts";
import { splitCallId } from "../conversation/fitted_names.ts";
import { type Losses, noCounterpart } from "../conversation/losses.ts";
import { readEffort } from "../conversation/reasoning.ts";

const names: FieldNames = {
  cache: "cache_control",
  format: "output_config.format",
  parallelCalls: "tool_choice.disable_parallel_tool_use",
  reasoning: "output_config.effort",
  strict: "tools[].strict",
  temperature: "temperature",
  topK: "top_k",
  topP: "top_p",
  user: "metadata.user_id",
};

/**
 * Reads a request of Anthropic's messages.
 * @throws {UntranslatableError}
 */
export function readMessagesRequest(
  body: JsonObject,
  losses: Losses,
): ChatRequest {
  const fields = new FieldReader(body, losses);
  const choice = fields.object("tool_choice");
  const disabled = choice?.boolean("disable_parallel_tool_use");
  const metadata = fields.object("metadata");
  const config = fields.object("output_config");
  const request: ChatRequest = {
    model: fields.required("model", fields.text("model")),
    system: readSystem(fields),
    turns: readTurns(fields),
    tools: fields.objects("tools").flatMap(readTool),
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
    format: config && readFormat(config),
    reasoning: readReasoning(fields, config?.text("effort")),
    user: metadata?.text("user_id"),
    stream: fields.boolean("stream") ?? false,
    includeUsage: true,
    names,
  };
  metadata?.end();
  config?.hint("task_budget");
  config?.end();
  // How Anthropic shortens a long conversation, and how fast and for whom it answers.
  fields.hint("context_management", "speed");
  fields.hints({ service_tier: ["auto", "standard_only"] });
  fields.end();
  return request;
}

function readSystem(fields: FieldReader): readonly TextPart[] {
  const system = fields.value("system");
  if (system === undefined || system === "") return [];
  if (typeof system === "string") return [{ type: "text", text: system }];
  return fields.objects("system").map((block) => {
    block.accept("type", "text");
    const read = readText(block);
    block.end();
    return read;
  });
}

function readText(block: FieldReader): TextPart {
  block.ignore("citations");
  const text = block.required("text", block.text("text"));
  const cache = block.cache();
  return { type: "text", text, ...(cache && { cache }) };
}

/** A mark of the whole request is one of its last part. */
function readTurns(fields: FieldReader): readonly Turn[] {
  const turns = fields.objects("messages").map(readTurn);
  const cache = fields.cache();
  const last = turns.at(-1);
  const part = last?.parts.at(-1);
  if (cache === undefined || last === undefined || part === undefined) {
    return turns;
  }
  if (part.type === "thinking") return turns;
  const parts = [...last.parts.slice(0, -1), { ...part, cache }];
  return [...turns.slice(0, -1), { ...last, parts }];
}

function readTurn(message: FieldReader): Turn {
  const role = message.text("role");
  if (role !== "user" && role !== "assistant" && role !== "system") {
    throw noCounterpart(message.at("role"));
  }
  const content = message.value("content");
  const parts: readonly Part[] = typeof content === "string"
    ? [{ type: "text", text: content }]
    : message.objects("content").map(readBlock);
  const isText = parts.every(({ type }) => type === "text");
  if (role === "system" && !isText) throw noCounterpart(message.at("content"));
  message.end();
  return { role, parts };
}

function readBlock(block: FieldReader): Part {
  const type = block.text("type");
  switch (type) {
    case "tool_use": {
      const { id, signature } = splitCallId(
        block.required("id", block.text("id")),
      );
      const cache = block.cache();
      return {
        type: "toolCall",
        id,
        name: block.required("name", block.text("name")),
        input: block.json("input") ?? {},
        ...(signature && { signature }),
        ...(cache && { cache }),
      };
    }
    case "tool_result": {
      const cache = block.cache();
      const id = block.required("tool_use_id", block.text("tool_use_id"));
      return {
        type: "toolResult",
        id: splitCallId(id).id,
        content: readResult(block),
        isError: block.boolean("is_error") ?? false,
        ...(cache && { cache }),
      };
    }
    case "thinking":
      return {
        type,
        text: block.text("thinking") ?? "",
        signature: block.text("signature") ?? "",
      };
    case "redacted_thinking": {
      const signature = block.required("data", block.text("data"));
      return { type: "thinking", text: "", signature, isRedacted: true };
    }
    default:
      return readContent(block, type);
  }
}

function readContent(
  block: FieldReader,
  type: string | undefined,
): ContentPart {
  if (type === "text") {
    const read = readText(block);
    block.end();
    return read;
  }
  if (type === "tool_reference") return toolIsKnown(block, "tool_name");
  if (type === "tool_addition") {
    return toolIsKnown(block.required("tool", block.object("tool")), "name");
  }
  if (type !== "image" && type !== "document") {
    throw noCounterpart(`${block.at("type")}: ${type}`);
  }
  block.hints({ citations: [{ enabled: false }] });
  const cache = block.cache();
  const source = readSource(block.required("source", block.object("source")));
  const marked = { source, ...(cache && { cache }) };
  if (type === "image") return { type, ...marked };
  block.hint("context");
  return { type, name: block.text("title"), ...marked };
}

/** Says in words that a tool with `defer_loading` is there: the model has it all the time. */
function toolIsKnown(block: FieldReader, field: string): TextPart {
  const name = block.required(field, block.text(field));
  return { type: "text", text: `The tool "${name}" is available.` };
}

function readSource(source: FieldReader): MediaSource {
  const kind = source.text("type");
  if (kind === "url") {
    return { url: source.required("url", source.text("url")) };
  }
  const data = source.text("data");
  if (kind === "text") {
    const bytes = new TextEncoder().encode(source.required("data", data));
    return { mediaType: "text/plain", data: bytes.toBase64() };
  }
  if (kind !== "base64") throw noCounterpart(source.at("type"));
  return {
    mediaType: source.required("media_type", source.text("media_type")),
    data: source.required("data", data),
  };
}

function readResult(block: FieldReader): readonly ContentPart[] {
  const content = block.value("content");
  if (content === undefined || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return block.objects("content").map((part) =>
    readContent(part, part.text("type"))
  );
}

/** The search for tools loads those with `defer_loading`: the model has them all anyway. */
const toolSearch = /^tool_search_tool_/;

function readTool(tool: FieldReader): readonly Tool[] {
  const type = tool.text("type");
  if (type !== undefined && toolSearch.test(type)) {
    tool.losses.drop(`${tool.at("type")}: tool_search_tool`);
    return [];
  }
  if (type !== undefined && type !== "custom") {
    throw noCounterpart(`${tool.at("type")}: ${type}`);
  }
  const cache = tool.cache();
  const read = {
    name: tool.required("name", tool.text("name")),
    description: tool.text("description"),
    schema: tool.required("input_schema", tool.json("input_schema")),
    strict: tool.boolean("strict") ?? false,
    ...(cache && { cache }),
  };
  // The model gets the whole tool at once, and its input when it is complete.
  tool.hints({ defer_loading: [false], eager_input_streaming: [false, true] });
  tool.hint("input_examples");
  tool.hints({ allowed_callers: [["direct"]] });
  tool.end();
  return [read];
}

function readToolChoice(choice: FieldReader): ToolChoice {
  const type = choice.text("type");
  if (type === "auto" || type === "none") return type;
  if (type === "any") return "required";
  if (type !== "tool") throw noCounterpart(choice.at("type"));
  return { name: choice.required("name", choice.text("name")) };
}

function readFormat(config: FieldReader): AnswerFormat | undefined {
  const format = config.object("format");
  if (format === undefined) return undefined;
  format.accept("type", "json_schema");
  return { schema: format.required("schema", format.json("schema")) };
}

function readReasoning(
  fields: FieldReader,
  text: string | undefined,
): Reasoning | undefined {
  const effort = readEffort(text);
  if (text !== undefined && effort === undefined) {
    throw noCounterpart(`output_config.effort: ${text.slice(0, 32)}`);
  }
  const thinking = fields.object("thinking");
  const type = thinking?.text("type");
  if (thinking === undefined) {
    return effort === undefined ? undefined : { effort, tokens: undefined };
  }
  if (type === "disabled") return { effort: "none", tokens: 0 };
  const isShown = thinking.value("display") !== "omitted";
  const tokens = type === "adaptive"
    ? undefined
    : thinking.required("budget_tokens", thinking.number("budget_tokens"));
  thinking.end();
  return {
    effort: tokens === undefined ? effort ?? "high" : effort,
    tokens,
    isShown,
  };
}
