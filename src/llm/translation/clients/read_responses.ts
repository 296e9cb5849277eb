import type { JsonObject } from "../../../base/json.ts";
import { BoundedJson } from "../../../base/json/bounded_json.ts";
import { MAX_QUOTED_VALUES } from "../conversation/answer_format.ts";
import type {
  AnswerFormat,
  ChatRequest,
  ContentPart,
  FieldNames,
  Part,
  Reasoning,
  TextPart,
  ToolChoice,
  Turn,
} from "../conversation/conversation.ts";
import { FieldReader } from "../conversation/field_reader.ts";
import { splitCallId } from "../conversation/fitted_names.ts";
import { type Losses, noCounterpart } from "../conversation/losses.ts";
import { readEffort } from "../conversation/reasoning.ts";
import { readFile, readImageUrl } from "./content_parts.ts";
import { readArguments } from "./chat_messages.ts";
import { openReasoning } from "./reasoning_items.ts";
import { flatName, readResponsesTools } from "./responses_tools.ts";

const names: FieldNames = {
  cache: "prompt_cache_breakpoint",
  format: "text.format",
  parallelCalls: "parallel_tool_calls",
  reasoning: "reasoning.effort",
  strict: "tools[].strict",
  temperature: "temperature",
  topP: "top_p",
  user: "user",
};

/** Fields that only say how OpenAI handles a request, and their defaults. */
const hints = {
  client_metadata: [],
  context_management: [],
  max_tool_calls: [],
  metadata: [{}],
  prompt_cache_key: [],
  prompt_cache_options: [],
  prompt_cache_retention: [],
  service_tier: ["auto", "default"],
  truncation: ["disabled"],
} as const;

/**
 * Reads a request of OpenAI's responses, whose conversation is all in `input`.
 * @throws {UntranslatableError}
 */
export function readResponsesRequest(
  body: JsonObject,
  losses: Losses,
): ChatRequest {
  const fields = new FieldReader(body, losses);
  const { tools, origins } = readResponsesTools(fields);
  const text = fields.object("text");
  const user = fields.text("user");
  const choice = readToolChoice(fields);
  const request: ChatRequest = {
    model: fields.required("model", fields.text("model")),
    ...readInput(fields),
    tools: tools.filter(({ name }) => choice.allowed?.has(name) ?? true),
    toolChoice: choice.choice,
    parallelCalls: fields.boolean("parallel_tool_calls"),
    maxTokens: fields.number("max_output_tokens") ??
      // Of a backend's settings.
      fields.number("max_tokens") ?? fields.number("max_completion_tokens"),
    temperature: fields.number("temperature"),
    topP: fields.number("top_p"),
    topK: undefined,
    stop: [],
    seed: undefined,
    frequencyPenalty: undefined,
    presencePenalty: undefined,
    format: text && readFormat(text),
    reasoning: readReasoning(fields),
    user: fields.text("safety_identifier") ?? user,
    stream: fields.boolean("stream") ?? false,
    includeUsage: true,
    names,
    origins,
  };
  text?.hints({ verbosity: ["medium"] });
  text?.end();
  fields.ignore("include", "stream_options", "store");
  fields.ignore("max_tokens", "max_completion_tokens");
  fields.accept("background", false);
  fields.accept("top_logprobs", 0);
  fields.hints(hints);
  fields.end();
  return request;
}

function readInput(
  fields: FieldReader,
): Pick<ChatRequest, "system" | "turns"> {
  const instructions = fields.text("instructions");
  const system: TextPart[] = instructions
    ? [{ type: "text", text: instructions }]
    : [];
  const input = fields.value("input");
  if (typeof input === "string") {
    const parts = [{ type: "text", text: input } as const];
    return { system, turns: [{ role: "user", parts }] };
  }
  const turns: { role: Turn["role"]; parts: Part[] }[] = [];
  const json = new BoundedJson(MAX_QUOTED_VALUES);
  for (const item of fields.objects("input")) {
    const { role, parts } = readItem(item, json);
    const last = turns.at(-1);
    if (role === "system" && turns.length === 0) {
      system.push(...parts.filter((part) => part.type === "text"));
    } else if (last?.role === role) last.parts.push(...parts);
    else turns.push({ role, parts: [...parts] });
  }
  return { system, turns };
}

function readItem(
  item: FieldReader,
  json: BoundedJson,
): Turn {
  const type = item.text("type") ?? "message";
  const callId = () =>
    splitCallId(item.required("call_id", item.text("call_id")));
  switch (type) {
    case "message":
      return readMessage(item);
    case "function_call":
    case "custom_tool_call": {
      const name = item.required("name", item.text("name"));
      const input = type === "function_call"
        ? readArguments(item, json)
        : { input: item.text("input") ?? "" };
      return {
        role: "assistant",
        parts: [{
          ...callId(),
          type: "toolCall",
          name: flatName(item.text("namespace"), name),
          input,
        }],
      };
    }
    case "function_call_output":
    case "custom_tool_call_output": {
      const content = readContent(item, "output");
      const { id } = callId();
      const result = { type: "toolResult", id, content } as const;
      return { role: "user", parts: [{ ...result, isError: false }] };
    }
    case "reasoning":
      return { role: "assistant", parts: readReasoningItem(item) };
    default:
      throw noCounterpart(`${item.at("type")}: ${type}`);
  }
}

function readMessage(item: FieldReader): Turn {
  const role = item.text("role");
  item.ignore("type", "id", "status", "phase");
  const parts = readContent(item, "content");
  item.end();
  if (role === "user" || role === "assistant") return { role, parts };
  const isText = parts.every((part) => part.type === "text");
  if (role !== "system" && role !== "developer" || !isText) {
    throw noCounterpart(item.at(isText ? "role" : "content"));
  }
  return { role: "system", parts };
}

function readContent(
  item: FieldReader,
  name: string,
): readonly ContentPart[] {
  const content = item.value(name);
  if (content === undefined || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return item.objects(name).map((part) => {
    const cache = part.object("prompt_cache_breakpoint");
    part.ignore("annotations", "logprobs");
    const read = readPart(part);
    part.end();
    return cache === undefined ? read : { ...read, cache: { ttl: undefined } };
  });
}

function readPart(part: FieldReader): ContentPart {
  const type = part.text("type");
  switch (type) {
    case "input_text":
    case "output_text":
    case "text":
      return { type: "text", text: part.required("text", part.text("text")) };
    case "refusal":
      return { type: "text", text: part.text("refusal") ?? "" };
    case "input_image":
      if (part.value("file_id") !== undefined) {
        throw noCounterpart(part.at("file_id"));
      }
      return readImageUrl(part, "image_url");
    case "input_file":
      part.hints({ detail: ["auto"] });
      return readFile(part);
    default:
      throw noCounterpart(`${part.at("type")}: ${type}`);
  }
}

function readReasoningItem(item: FieldReader): readonly Part[] {
  const part = openReasoning(item.text("encrypted_content"));
  if (part !== undefined) return [part];
  // Only the provider that has encrypted it can read it.
  item.losses.note("reasoning of earlier turns");
  return [];
}

interface ReadChoice {
  readonly choice: ToolChoice | undefined;
  /** Flat names of the only tools that may be called. */
  readonly allowed?: ReadonlySet<string>;
}

function readToolChoice(fields: FieldReader): ReadChoice {
  const choice = fields.value("tool_choice");
  if (
    choice === undefined || choice === "auto" || choice === "none" ||
    choice === "required"
  ) return { choice };
  const read = fields.required("tool_choice", fields.object("tool_choice"));
  const type = read.text("type");
  const nameOf = (holder: FieldReader) =>
    flatName(
      holder.text("namespace"),
      holder.required("name", holder.text("name")),
    );
  if (type === "function" || type === "custom") {
    return { choice: { name: nameOf(read) } };
  }
  if (type !== "allowed_tools") {
    throw noCounterpart(`${read.at("type")}: ${type}`);
  }
  const allowed = new Set(read.objects("tools").map(nameOf));
  const isRequired = read.text("mode") === "required";
  return { choice: isRequired ? "required" : "auto", allowed };
}

function readFormat(text: FieldReader): AnswerFormat | undefined {
  const format = text.object("format");
  const type = format?.text("type");
  if (format === undefined || type === "text") return undefined;
  if (type === "json_object") return { schema: undefined };
  if (type !== "json_schema") throw noCounterpart("text.format");
  return {
    name: format.text("name"),
    schema: format.required("schema", format.json("schema")),
  };
}

function readReasoning(fields: FieldReader): Reasoning | undefined {
  const reasoning = fields.object("reasoning");
  const text = reasoning?.text("effort");
  // The summary that a client sees does not change the answer.
  reasoning?.ignore("summary", "generate_summary");
  reasoning?.hints({ context: ["auto"], mode: ["standard"] });
  reasoning?.end();
  if (text === undefined) return undefined;
  const effort = readEffort(text);
  if (effort === undefined) {
    throw noCounterpart(`reasoning.effort: ${text.slice(0, 32)}`);
  }
  return { effort, tokens: undefined };
}
