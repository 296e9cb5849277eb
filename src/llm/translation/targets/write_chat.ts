import type { JsonObject } from "../../../base/json.ts";
import { dropHints } from "../conversation/answer_format.ts";
import type {
  ChatRequest,
  ContentPart,
  Part,
  Turn,
} from "../conversation/conversation.ts";
import { fitUser } from "../conversation/fitted_names.ts";
import { hasMarks, limitMarks } from "../conversation/fitted_turns.ts";
import { type Losses, noCounterpart } from "../conversation/losses.ts";
import { openAiFacts } from "../conversation/model_facts.ts";
import { plainText } from "./media_types.ts";
import {
  isStrict,
  outputLimit,
  textOf,
  urlOf,
  writeEffort,
  writeSampling,
} from "./openai_settings.ts";

/** Writes a mark of a text or an image. */
type MarkWriter = (part: ContentPart) => JsonObject;

/**
 * Writes a request of OpenAI's chat completions. Reasoning of earlier turns is left out: the API has no place for it.
 * @throws {UntranslatableError}
 */
export function writeChatRequest(
  original: ChatRequest,
  losses: Losses,
): JsonObject {
  dropHints(original, losses, "topK");
  const request = limitMarks(original);
  const { format, tools, toolChoice, stop, user, model } = request;
  const mark = markWriter(request, losses);
  const effort = writeEffort(request, losses);
  const limit = outputLimit(request, losses);
  return {
    model,
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, schema, strict }) => ({
        type: "function",
        function: {
          name,
          ...(description && { description }),
          parameters: schema,
          ...(strict && { strict }),
        },
      })),
    }),
    messages: [
      ...request.system.map((part) => ({
        role: "system",
        content: writeTexts([part], mark),
      })),
      ...request.turns.flatMap((turn) => writeTurn(turn, mark, losses)),
    ],
    ...(toolChoice !== undefined && tools.length > 0 && {
      tool_choice: typeof toolChoice === "object"
        ? { type: "function", function: { name: toolChoice.name } }
        : toolChoice,
    }),
    ...(request.parallelCalls === false && tools.length > 0 &&
      { parallel_tool_calls: false }),
    ...(limit !== undefined && { max_tokens: limit }),
    ...writeSampling(request, effort, losses),
    ...(stop.length > 0 && { stop }),
    ...(format !== undefined && {
      response_format: format.schema === undefined ? { type: "json_object" } : {
        type: "json_schema",
        json_schema: {
          name: format.name ?? "answer",
          schema: format.schema,
          ...(isStrict(format.schema) && { strict: true }),
        },
      },
    }),
    ...(effort && { reasoning_effort: effort }),
    ...(user !== undefined && { user: fitUser(user, /^.{0,64}$/s) }),
    ...(request.stream && {
      stream: true,
      stream_options: { include_usage: true },
    }),
  };
}

/** Models of OpenAI have marks of their own from GPT-5.6 on; routers of Claude take those of Anthropic. */
function markWriter(request: ChatRequest, losses: Losses): MarkWriter {
  if (openAiFacts(request.model).breakpoints) {
    return ({ cache }) =>
      cache ? { prompt_cache_breakpoint: { mode: "explicit" } } : {};
  }
  if (request.model.includes("claude")) {
    return ({ cache }) => {
      if (cache === undefined) return {};
      const { ttl } = cache;
      return { cache_control: { type: "ephemeral", ...(ttl && { ttl }) } };
    };
  }
  // Others cache by themselves.
  if (hasMarks(request)) losses.note(request.names.cache ?? "cache");
  return () => ({});
}

function writeTurn(
  { role, parts }: Turn,
  mark: MarkWriter,
  losses: Losses,
): readonly JsonObject[] {
  if (parts.some(({ type }) => type === "thinking")) {
    losses.note("reasoning of earlier turns");
  }
  const results = parts.flatMap((part): JsonObject[] =>
    part.type === "toolResult"
      ? [{
        role: "tool",
        tool_call_id: part.id,
        content: (part.isError ? "Error: " : "") + textOf(part.content),
      }]
      : []
  );
  const content = parts.filter((part) =>
    part.type === "text" || part.type === "image" || part.type === "document"
  );
  // Tools can return images here only as what the user says next.
  const media = parts.flatMap((part) =>
    part.type === "toolResult"
      ? part.content.filter(({ type }) => type !== "text")
      : []
  );
  const said = [...media, ...content];
  const calls = parts.flatMap((part) => writeCall(part));
  if (said.length === 0 && calls.length === 0) return results;
  return [...results, {
    role,
    content: said.length === 0 ? null : writeTexts(said, mark),
    ...(calls.length > 0 && { tool_calls: calls }),
  }];
}

/** A list only where it is needed: servers that are compatible know texts best. */
function writeTexts(
  parts: readonly ContentPart[],
  mark: MarkWriter,
): string | readonly JsonObject[] {
  const isPlain = parts.every((part) =>
    part.type === "text" && Object.keys(mark(part)).length === 0
  );
  return isPlain
    ? textOf(parts)
    : parts.map((part) => ({ ...writeContent(part), ...mark(part) }));
}

function writeCall(part: Part): readonly JsonObject[] {
  if (part.type !== "toolCall") return [];
  const { id, name, input } = part;
  return [{
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }];
}

function writeContent(part: ContentPart): JsonObject {
  if (part.type === "text") return { type: "text", text: part.text };
  const { source } = part;
  if (part.type === "image") {
    return { type: "image_url", image_url: { url: urlOf(source) } };
  }
  const text = plainText(part);
  if (text !== undefined) return { type: "text", text };
  if ("url" in source) throw noCounterpart("a file that is at a URL");
  const filename = part.name ?? "file.pdf";
  return { type: "file", file: { filename, file_data: urlOf(source) } };
}
