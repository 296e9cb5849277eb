import { type JsonObject, stringMember } from "../../base/json.ts";
import type {
  AnswerEvent,
  AnswerReader,
  AnswerUsage,
  ChatRequest,
  FinishReason,
  ImagePart,
  Part,
  ToolChoice,
} from "./conversation.ts";
import { UntranslatableError } from "./conversation.ts";
import {
  countOf,
  indexOf,
  objectOf,
  objectsOf,
  unknownForm,
} from "./answer_fields.ts";
import { CallOrder } from "./call_order.ts";
import { noCounterpart } from "./field_reader.ts";
import {
  FORMAT_TOOL,
  formatTool,
  refuse,
  thinkingBudget,
} from "./request_limits.ts";

/** Anthropic requires a limit; this one fits every model. */
const DEFAULT_MAX_TOKENS = 4096;

/**
 * Writes a request of Anthropic's messages.
 * @throws {UntranslatableError}
 */
export function writeMessagesRequest(request: ChatRequest): JsonObject {
  const { reasoningTokens, format, toolChoice, maxTokens } = request;
  refuse(request, "seed", "frequencyPenalty", "presencePenalty");
  if ((request.temperature ?? 0) > 1) {
    throw new UntranslatableError(
      '"temperature" above 1 has no counterpart at the provider of this model',
    );
  }
  const thinks = reasoningTokens !== undefined && reasoningTokens > 0;
  if (thinks && format !== undefined) {
    throw noCounterpart("response_format with reasoning");
  }
  const tools = [...request.tools, ...formatTool(request)];
  const choice = format === undefined ? toolChoice : { name: FORMAT_TOOL };
  return {
    model: request.model,
    max_tokens: maxTokens ??
      DEFAULT_MAX_TOKENS + (thinks ? reasoningTokens : 0),
    ...(request.system.length > 0 && {
      system: request.system.map((text) => ({ type: "text", text })),
    }),
    messages: request.turns.map(({ role, parts }) => ({
      role,
      content: parts.map(writePart),
    })),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, schema, strict }) => ({
        name,
        ...(description !== undefined && { description }),
        input_schema: schema,
        ...(strict && { strict }),
      })),
    }),
    ...writeToolChoice(choice, request.parallelCalls, tools.length > 0),
    ...(request.temperature !== undefined &&
      { temperature: request.temperature }),
    ...(request.topP !== undefined && { top_p: request.topP }),
    ...(request.topK !== undefined && { top_k: request.topK }),
    ...(request.stop.length > 0 && { stop_sequences: request.stop }),
    ...(reasoningTokens !== undefined && {
      thinking: thinks
        ? {
          type: "enabled",
          budget_tokens: thinkingBudget(reasoningTokens, maxTokens),
        }
        : { type: "disabled" },
    }),
    ...(request.user !== undefined && { metadata: { user_id: request.user } }),
    ...(request.stream && { stream: true }),
  };
}

function writePart(part: Part): JsonObject {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image":
      return writeImage(part);
    case "toolCall":
      return {
        type: "tool_use",
        id: part.id,
        name: part.name,
        input: part.input,
      };
    case "toolResult":
      return {
        type: "tool_result",
        tool_use_id: part.id,
        content: part.content.map(writePart),
        ...(part.isError && { is_error: true }),
      };
    case "thinking":
      return {
        type: "thinking",
        thinking: part.text,
        signature: part.signature,
      };
  }
}

function writeImage({ source }: ImagePart): JsonObject {
  return {
    type: "image",
    source: "url" in source
      ? { type: "url", url: source.url }
      : { type: "base64", media_type: source.mediaType, data: source.data },
  };
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

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["pause_turn", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "toolCalls"],
  ["refusal", "contentFilter"],
]);

/** Reads answers of Anthropic's messages. */
export class MessagesReader implements AnswerReader {
  #usage: JsonObject = {};
  readonly #hasFormat: boolean;
  /** Index of the call of the format: its input is the text. */
  #formatIndex: number | undefined;
  readonly #calls = new CallOrder();

  constructor({ format }: Pick<ChatRequest, "format">) {
    this.#hasFormat = format !== undefined;
  }

  whole(answer: JsonObject): readonly AnswerEvent[] {
    const events: AnswerEvent[] = [startOf(answer)];
    objectsOf(answer, "content").forEach((block, index) => {
      events.push(
        ...this.#blockStarts(block, index),
        ...this.#blockContent(block, index),
        ...this.#calls.end(index),
      );
    });
    this.#usage = objectOf(answer, "usage");
    return [...events, this.#usageEvent(), this.#finish(answer)];
  }

  event(event: JsonObject): readonly AnswerEvent[] {
    switch (event["type"]) {
      case "message_start": {
        const message = objectOf(event, "message");
        this.#usage = objectOf(message, "usage");
        return [startOf(message)];
      }
      case "content_block_start":
        return this.#blockStarts(
          objectOf(event, "content_block"),
          indexOf(event, "index"),
        );
      case "content_block_delta":
        return this.#delta(objectOf(event, "delta"), indexOf(event, "index"));
      case "content_block_stop":
        return this.#calls.end(indexOf(event, "index"));
      case "message_delta":
        this.#usage = { ...this.#usage, ...objectOf(event, "usage") };
        return [
          ...this.#calls.finish(),
          this.#usageEvent(),
          this.#finish(objectOf(event, "delta")),
        ];
      case "error":
        return [errorOf(objectOf(event, "error"))];
      default:
        return [];
    }
  }

  end(): readonly AnswerEvent[] {
    return [];
  }

  #blockStarts(block: JsonObject, index: number): readonly AnswerEvent[] {
    const type = block["type"];
    if (type === "text" || type === "thinking") return [];
    // Without a signature of its own; nothing but Anthropic can use it.
    if (type === "redacted_thinking") return [];
    if (type !== "tool_use") throw unknownForm(`content of type "${type}"`);
    const name = stringMember(block, "name") ?? "";
    if (this.#hasFormat && name === FORMAT_TOOL) {
      this.#formatIndex = index;
      return [];
    }
    const id = stringMember(block, "id") ?? "";
    return this.#calls.begin(index, { type: "toolCall", id, name });
  }

  #blockContent(block: JsonObject, index: number): readonly AnswerEvent[] {
    switch (block["type"]) {
      case "text":
        return this.#pass("text", block);
      case "thinking":
        return [
          ...this.#pass("thinking", block),
          ...this.#signature(block),
        ];
      case "tool_use":
        return this.#input(index, JSON.stringify(block["input"] ?? {}));
      default:
        return [];
    }
  }

  #delta(delta: JsonObject, index: number): readonly AnswerEvent[] {
    switch (delta["type"]) {
      case "text_delta":
        return this.#pass("text", delta);
      case "thinking_delta":
        return this.#pass("thinking", delta);
      case "signature_delta":
        return this.#signature(delta);
      case "input_json_delta":
        return this.#input(index, stringMember(delta, "partial_json") ?? "");
      default:
        return [];
    }
  }

  #pass(
    type: "text" | "thinking",
    holder: JsonObject,
  ): readonly AnswerEvent[] {
    return this.#calls.pass({ type, text: stringMember(holder, type) ?? "" });
  }

  #signature(holder: JsonObject): readonly AnswerEvent[] {
    const signature = stringMember(holder, "signature") ?? "";
    return this.#calls.pass({ type: "signature", signature });
  }

  #input(index: number, json: string): readonly AnswerEvent[] {
    if (json === "") return [];
    return index === this.#formatIndex
      ? this.#calls.pass({ type: "text", text: json })
      : this.#calls.input(index, json);
  }

  #usageEvent(): AnswerEvent {
    return { type: "usage", usage: readUsage(this.#usage) };
  }

  #finish(answer: JsonObject): AnswerEvent {
    const reason = stringMember(answer, "stop_reason") ?? "end_turn";
    return {
      type: "finish",
      // The call of the format is the answer itself.
      reason: this.#hasFormat && reason === "tool_use"
        ? "stop"
        : finishReasons.get(reason) ?? "stop",
      stopSequence: stringMember(answer, "stop_sequence"),
    };
  }
}

function readUsage(usage: JsonObject): AnswerUsage {
  const cachedInput = countOf(usage, "cache_read_input_tokens");
  const cacheWrite = countOf(usage, "cache_creation_input_tokens");
  return {
    input: countOf(usage, "input_tokens") + cachedInput + cacheWrite,
    cachedInput,
    cacheWrite,
    output: countOf(usage, "output_tokens"),
    reasoning: undefined,
  };
}

function startOf(message: JsonObject): AnswerEvent {
  return {
    type: "start",
    id: stringMember(message, "id") ?? "",
    model: stringMember(message, "model") ?? "",
  };
}

const streamErrors: ReadonlyMap<string, number> = new Map([
  ["invalid_request_error", 400],
  ["rate_limit_error", 429],
  ["overloaded_error", 503],
]);

function errorOf(error: JsonObject): AnswerEvent {
  const type = stringMember(error, "type") ?? "";
  return {
    type: "error",
    status: streamErrors.get(type) ?? 500,
    message: stringMember(error, "message") ?? type,
  };
}
