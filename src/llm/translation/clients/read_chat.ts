import { type JsonObject } from "../../../base/json.ts";
import type {
  AnswerFormat,
  ChatRequest,
  FieldNames,
  Reasoning,
  Tool,
  ToolChoice,
} from "../conversation/conversation.ts";
import { FieldReader } from "../conversation/field_reader.ts";
import {
  type Losses,
  malformed,
  noCounterpart,
} from "../conversation/losses.ts";
import { readEffort } from "../conversation/reasoning.ts";
import { readMessages } from "./chat_messages.ts";

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
