import type { JsonObject } from "../../../base/json.ts";
import { dropHints } from "../conversation/answer_format.ts";
import type {
  ChatRequest,
  ContentPart,
  Part,
  ToolResultPart,
  Turn,
} from "../conversation/conversation.ts";
import { fitUser } from "../conversation/fitted_names.ts";
import { hasMarks, limitMarks } from "../conversation/fitted_turns.ts";
import type { Losses } from "../conversation/losses.ts";
import { openAiFacts } from "../conversation/model_facts.ts";
import { openOpenAiReasoning } from "../conversation/openai_reasoning.ts";
import { plainText } from "./media_types.ts";
import {
  isStrict,
  outputLimit,
  textOf,
  urlOf,
  writeEffort,
  writeSampling,
} from "./openai_settings.ts";

/** OpenAI rejects less. */
const MIN_OUTPUT_TOKENS = 16;

/**
 * Writes a request of OpenAI's responses, which the provider does not store: clients send the whole conversation.
 * @throws {UntranslatableError}
 */
export function writeResponsesRequest(
  original: ChatRequest,
  losses: Losses,
): JsonObject {
  dropHints(original, losses, "topK", "seed");
  dropHints(original, losses, "frequencyPenalty", "presencePenalty");
  const request = limitMarks(original);
  const { model, tools, user, format } = request;
  const { breakpoints = false, efforts } = openAiFacts(model);
  if (!breakpoints && hasMarks(request)) {
    losses.note(request.names.cache ?? "cache");
  }
  const effort = writeEffort(request, losses);
  const limit = outputLimit(request, losses);
  if ((limit ?? Infinity) < MIN_OUTPUT_TOKENS) losses.note("max_tokens");
  return {
    model,
    ...(tools.length > 0 && writeTools(request)),
    input: [
      ...request.system.map((part) => ({
        type: "message",
        role: "system",
        content: writeContents([part], breakpoints),
      })),
      ...request.turns.flatMap((turn) => writeTurn(turn, breakpoints, losses)),
    ],
    ...(limit !== undefined &&
      { max_output_tokens: Math.max(MIN_OUTPUT_TOKENS, limit) }),
    ...writeSampling(withoutPenalties(request), effort, losses),
    ...(format && { text: { format: writeFormat(format) } }),
    ...(effort && {
      reasoning: {
        effort,
        ...(request.reasoning?.isShown && { summary: "auto" }),
      },
    }),
    // Models that do not reason reject it.
    ...(efforts.length > 0 && { include: ["reasoning.encrypted_content"] }),
    ...(user !== undefined && { user: fitUser(user, /^.{0,64}$/s) }),
    store: false,
    ...(request.stream && { stream: true }),
  };
}

/** Removes settings that chat completions alone have. */
function withoutPenalties(request: ChatRequest): ChatRequest {
  const none = undefined;
  return {
    ...request,
    frequencyPenalty: none,
    presencePenalty: none,
    seed: none,
  };
}

function writeTools(
  { tools, toolChoice, parallelCalls }: ChatRequest,
): JsonObject {
  return {
    tools: tools.map(({ name, description, schema, strict }) => ({
      type: "function",
      name,
      ...(description && { description }),
      parameters: schema,
      // Its default is true.
      strict,
    })),
    ...(toolChoice !== undefined && {
      tool_choice: typeof toolChoice === "object"
        ? { type: "function", name: toolChoice.name }
        : toolChoice,
    }),
    ...(parallelCalls === false && { parallel_tool_calls: false }),
  };
}

function writeFormat(
  { schema, name = "answer" }: NonNullable<ChatRequest["format"]>,
): JsonObject {
  if (schema === undefined) return { type: "json_object" };
  return { type: "json_schema", name, schema, strict: isStrict(schema) };
}

/** Writes the items of a turn: calls, results and reasoning are items beside messages. */
function writeTurn(
  { role, parts }: Turn,
  breakpoints: boolean,
  losses: Losses,
): readonly JsonObject[] {
  const items: JsonObject[] = [];
  let said: ContentPart[] = [];
  const flush = () => {
    if (said.length > 0) {
      const content = role === "assistant"
        ? textOf(said)
        : writeContents(said, breakpoints);
      items.push({ type: "message", role, content });
    }
    said = [];
  };
  for (const part of parts) {
    const item = writeItem(part, breakpoints, losses);
    if (item === "content") said.push(asContent(part, losses));
    else {
      flush();
      items.push(...item);
    }
  }
  flush();
  return items;
}

/** Returns a part as content; models cannot have said anything but texts. */
function asContent(part: Part, losses: Losses): ContentPart {
  if (
    part.type === "text" || part.type === "image" || part.type === "document"
  ) return part;
  losses.note(part.type);
  return { type: "text", text: "" };
}

function writeItem(
  part: Part,
  breakpoints: boolean,
  losses: Losses,
): readonly JsonObject[] | "content" {
  switch (part.type) {
    case "toolCall":
      return [{
        type: "function_call",
        call_id: part.id,
        name: part.name,
        arguments: JSON.stringify(part.input),
      }];
    case "toolResult":
      return [{
        type: "function_call_output",
        call_id: part.id,
        output: writeOutput(part, breakpoints),
      }];
    case "thinking": {
      const own = openOpenAiReasoning(part);
      if (own === undefined) {
        losses.note("reasoning of earlier turns");
        return [];
      }
      const summary = part.text === ""
        ? []
        : [{ type: "summary_text", text: part.text }];
      const { id, encrypted } = own;
      return [{ type: "reasoning", id, summary, encrypted_content: encrypted }];
    }
    default:
      return "content";
  }
}

function writeOutput(
  { content, isError }: ToolResultPart,
  breakpoints: boolean,
): string | readonly JsonObject[] {
  const prefix = isError ? "Error: " : "";
  const isPlain = content.every(({ type }) => type === "text");
  if (isPlain) return prefix + textOf(content);
  return [
    ...(isError ? [{ type: "input_text", text: prefix }] : []),
    ...writeContents(content, breakpoints),
  ];
}

function writeContents(
  parts: readonly ContentPart[],
  breakpoints: boolean,
): readonly JsonObject[] {
  return parts.map((part) => ({
    ...writeContent(part),
    ...(breakpoints && part.cache &&
      { prompt_cache_breakpoint: { mode: "explicit" } }),
  }));
}

function writeContent(part: ContentPart): JsonObject {
  if (part.type === "text") return { type: "input_text", text: part.text };
  const { source } = part;
  if (part.type === "image") {
    return { type: "input_image", detail: "auto", image_url: urlOf(source) };
  }
  const text = plainText(part);
  if (text !== undefined) return { type: "input_text", text };
  const filename = part.name ?? "file.pdf";
  return "url" in source
    ? { type: "input_file", file_url: source.url }
    : { type: "input_file", filename, file_data: urlOf(source) };
}
