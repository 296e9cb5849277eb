import type { JsonObject } from "../../../base/json.ts";
import {
  dropHints,
  FORMAT_TOOL,
  planFormat,
} from "../conversation/answer_format.ts";
import type {
  CacheMark,
  ChatRequest,
  DocumentPart,
  MediaSource,
  Part,
  Tool,
  ToolChoice,
} from "../conversation/conversation.ts";
import { isOfOpenAi } from "../conversation/openai_reasoning.ts";
import { fitUser } from "../conversation/fitted_names.ts";
import {
  fitTurns,
  knownTools,
  limitMarks,
  systemTexts,
} from "../conversation/fitted_turns.ts";
import type { Losses } from "../conversation/losses.ts";
import { type ClaudeFacts, claudeFacts } from "../conversation/model_facts.ts";
import {
  type ClaudeReasoning,
  claudeReasoning,
} from "../conversation/reasoning.ts";
import { plainText } from "./media_types.ts";

/** Anthropic requires a limit; this one fits every model. */
const DEFAULT_MAX_TOKENS = 4096;
/**
 * Writes a request of Anthropic's messages.
 * @throws {UntranslatableError}
 */
export function writeMessagesRequest(
  original: ChatRequest,
  losses: Losses,
): JsonObject {
  dropHints(original, losses, "seed", "frequencyPenalty", "presencePenalty");
  const request = limitMarks(original);
  const { model, names, parallelCalls, maxTokens } = request;
  const facts = claudeFacts(model);
  const format = planFormat(request, facts.formats === true, losses);
  const toolChoice = format.tool ? { name: FORMAT_TOOL } : request.toolChoice;
  const reasoning = claudeReasoning(request, toolChoice, facts);
  if (reasoning.isChanged) losses.drop(names.reasoning ?? "reasoning");
  const system = systemTexts(request);
  const tools = format.tool ? [format.tool] : knownTools(request);
  const choice = request.tools.length === 0 && tools.length > 0 && !format.tool
    ? "none"
    : toolChoice;
  const outputConfig = {
    ...(reasoning.effort && { effort: reasoning.effort }),
    ...(format.schema && {
      format: { type: "json_schema", schema: format.schema },
    }),
  };
  return {
    model,
    max_tokens: maxTokens ?? DEFAULT_MAX_TOKENS + reasoning.budget,
    ...(tools.length > 0 && {
      tools: tools.map((tool) => writeTool(tool, facts, request, losses)),
    }),
    ...(system.length > 0 && {
      system: system.map(({ text, cache }) => ({
        ...{ type: "text", text },
        ...writeMark(cache),
      })),
    }),
    messages: fitTurns(request.turns, {
      lateSystem: facts.lateSystem === true,
      noBlanks: true,
    }).map(({ role, parts }) => ({
      role,
      content: parts.flatMap((part) => writePart(part, losses)),
    })),
    ...writeToolChoice(choice, parallelCalls, tools.length > 0),
    ...writeSampling(request, facts, reasoning, losses),
    ...(request.stop.length > 0 && { stop_sequences: request.stop }),
    ...(reasoning.thinking && { thinking: reasoning.thinking }),
    ...(Object.keys(outputConfig).length > 0 &&
      { output_config: outputConfig }),
    ...(request.user !== undefined &&
      { metadata: { user_id: fitUser(request.user, /^.{0,256}$/s) } }),
    ...(request.stream && { stream: true }),
  };
}

/** Writes the settings of sampling that a model accepts, also beside reasoning; returns them with Anthropic's names. */
export function writeSampling(
  { temperature, topP, topK, names }: ChatRequest,
  { samples }: ClaudeFacts,
  { thinking }: ClaudeReasoning,
  losses: Losses,
): JsonObject {
  const reasons = thinking !== undefined && thinking.type !== "disabled";
  const drop = (hint: "temperature" | "topP" | "topK") =>
    losses.drop(names[hint] ?? hint);
  const allowed = samples === true;
  const rest: Record<string, number> = {};
  // A temperature of 1 is that of a request without one.
  if (temperature !== undefined && temperature !== 1) {
    if (!allowed || reasons || temperature > 1) drop("temperature");
    if (allowed && !reasons) rest["temperature"] = Math.min(1, temperature);
  }
  if (topP !== undefined && topP !== 1) {
    if (allowed && (!reasons || topP >= 0.95)) rest["top_p"] = topP;
    else drop("topP");
  }
  if (topK !== undefined) {
    if (allowed && !reasons) rest["top_k"] = topK;
    else drop("topK");
  }
  return rest;
}

function writeTool(
  { name, description, schema, strict, cache }: Tool,
  { formats }: ClaudeFacts,
  { names }: ChatRequest,
  losses: Losses,
): JsonObject {
  if (strict && formats !== true) losses.drop(names.strict ?? "strict");
  return {
    name,
    ...(description && { description }),
    input_schema: Object.hasOwn(schema, "type")
      ? schema
      : { type: "object", ...schema },
    ...(strict && formats && { strict }),
    ...writeMark(cache),
  };
}

function writeMark(cache: CacheMark | undefined): JsonObject {
  if (cache === undefined) return {};
  const { ttl } = cache;
  return { cache_control: { type: "ephemeral", ...(ttl && { ttl }) } };
}

function writePart(part: Part, losses: Losses): readonly JsonObject[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", text: part.text, ...writeMark(part.cache) }];
    case "image":
      return [{
        type: "image",
        source: writeSource(part.source),
        ...writeMark(part.cache),
      }];
    case "document":
      return [writeDocument(part)];
    case "toolCall":
      return [{
        ...{ type: "tool_use", id: part.id, name: part.name },
        input: part.input,
        ...writeMark(part.cache),
      }];
    case "toolResult":
      return [{
        ...{ type: "tool_result", tool_use_id: part.id },
        content: part.content.filter((each) =>
          each.type !== "text" || each.text.trim() !== ""
        ).flatMap((each) => writePart(each, losses)),
        ...(part.isError && { is_error: true }),
        ...writeMark(part.cache),
      }];
    case "thinking":
      if (part.isRedacted) {
        return [{ type: "redacted_thinking", data: part.signature }];
      }
      if (part.signature !== "" && !isOfOpenAi(part.signature)) {
        const { text: thinking, signature } = part;
        return [{ type: "thinking", thinking, signature }];
      }
      // Only reasoning that the provider has signed is accepted.
      losses.note("reasoning of earlier turns");
      return [];
  }
}

function writeDocument(part: DocumentPart): JsonObject {
  const { source, name, cache } = part;
  const data = plainText(part);
  return {
    type: "document",
    source: data === undefined
      ? writeSource(source)
      : { type: "text", media_type: "text/plain", data },
    ...(name && { title: name }),
    ...writeMark(cache),
  };
}

function writeSource(source: MediaSource): JsonObject {
  return "url" in source
    ? { type: "url", url: source.url }
    : { type: "base64", media_type: source.mediaType, data: source.data };
}

function writeToolChoice(
  choice: ToolChoice | undefined,
  parallelCalls: boolean | undefined,
  hasTools: boolean,
): JsonObject {
  if (!hasTools || (choice === undefined && parallelCalls !== false)) return {};
  const written = typeof choice === "object"
    ? { type: "tool", name: choice.name }
    : { type: choice === "required" ? "any" : choice ?? "auto" };
  return {
    tool_choice: {
      ...written,
      ...(parallelCalls === false && choice !== "none" &&
        { disable_parallel_tool_use: true }),
    },
  };
}
