import { type JsonObject, stringMember } from "../../../base/json.ts";
import type {
  AnswerEvent,
  AnswerReader,
  AnswerUsage,
  ChatRequest,
  FinishReason,
} from "../conversation/conversation.ts";
import {
  countOf,
  indexOf,
  objectOf,
  objectsOf,
  unknownForm,
} from "../conversation/answer_fields.ts";
import { CallOrder } from "../conversation/call_order.ts";
import { FORMAT_TOOL } from "../conversation/answer_format.ts";

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
    if (type === "redacted_thinking") {
      const data = stringMember(block, "data") ?? "";
      return this.#calls.pass({ type: "redacted", data });
    }
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
      reason: this.#formatIndex !== undefined && reason === "tool_use"
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
    cacheWrite1h: countOf(
      objectOf(usage, "cache_creation"),
      "ephemeral_1h_input_tokens",
    ),
    output: countOf(usage, "output_tokens"),
    reasoning:
      countOf(objectOf(usage, "output_tokens_details"), "thinking_tokens") ||
      undefined,
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
