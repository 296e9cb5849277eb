import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { BoundedJson } from "../../../base/json/bounded_json.ts";
import type {
  AnswerEvent,
  AnswerUsage,
  AnswerWriter,
  FinishReason,
} from "../conversation/conversation.ts";
import {
  type UnknownAnswerError,
  unknownForm,
} from "../conversation/answer_fields.ts";
import { MAX_QUOTED_VALUES } from "../conversation/answer_format.ts";
import { joinCallId } from "../conversation/fitted_names.ts";

const stopReasons: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  toolCalls: "tool_use",
  contentFilter: "refusal",
};

type BlockType = "text" | "thinking" | "redacted_thinking" | "tool_use";

interface Block {
  readonly type: BlockType;
  readonly id?: string;
  readonly name?: string;
  text: string;
  signature: string;
}

const noUsage: AnswerUsage = {
  input: 0,
  cachedInput: 0,
  cacheWrite: 0,
  output: 0,
  reasoning: undefined,
};

/** Writes answers of Anthropic's messages. */
export class MessagesWriter implements AnswerWriter {
  #id = "";
  #model = "";
  #usage: AnswerUsage = noUsage;
  #finish: Extract<AnswerEvent, { type: "finish" }> | undefined;
  #open: BlockType | undefined;
  #index = -1;
  #hasFailed = false;

  whole(events: readonly AnswerEvent[]): JsonObject {
    const blocks: Block[] = [];
    const last = (type: BlockType) => {
      const block = blocks.at(-1);
      if (block?.type === type && block.signature === "") return block;
      const next = { type, text: "", signature: "" };
      blocks.push(next);
      return next;
    };
    for (const event of events) {
      if (event.type === "text") last("text").text += event.text;
      else if (event.type === "thinking") last("thinking").text += event.text;
      else if (event.type === "signature") {
        last("thinking").signature = event.signature;
      } else if (event.type === "toolCall") {
        const { name, signature } = event;
        const id = joinCallId(event.id, signature);
        blocks.push({ type: "tool_use", id, name, text: "", signature: "" });
      } else if (event.type === "redacted") {
        const { data: signature } = event;
        blocks.push({ type: "redacted_thinking", text: "", signature });
      } else if (event.type === "image") throw imageError();
      else if (event.type === "toolInput") {
        last("tool_use").text += event.json;
      } else this.#note(event);
    }
    return {
      ...this.#message(blocks.map(writeBlock)),
      ...this.#stop(),
      usage: writeUsage(this.#usage),
    };
  }

  event(event: AnswerEvent): string {
    switch (event.type) {
      case "start":
        this.#note(event);
        return eventOf({
          type: "message_start",
          message: {
            ...this.#message([]),
            stop_reason: null,
            stop_sequence: null,
            usage: writeUsage(noUsage),
          },
        });
      case "text":
        return this.#enter("text", { type: "text", text: "" }) +
          this.#delta({ type: "text_delta", text: event.text });
      case "thinking":
        return this.#enterThinking() +
          this.#delta({ type: "thinking_delta", thinking: event.text });
      case "signature":
        return this.#enterThinking() +
          this.#delta({ type: "signature_delta", signature: event.signature });
      case "redacted":
        return this.#leave() + this.#enter("redacted_thinking", {
          type: "redacted_thinking",
          data: event.data,
        });
      case "image":
        throw imageError();
      case "toolCall":
        return this.#leave() +
          this.#enter("tool_use", {
            type: "tool_use",
            id: joinCallId(event.id, event.signature),
            name: event.name,
            input: {},
          });
      case "toolInput":
        return this.#delta({
          type: "input_json_delta",
          partial_json: event.json,
        });
      case "usage":
      case "finish":
        this.#note(event);
        return "";
      case "error":
        this.#hasFailed = true;
        return eventOf({
          type: "error",
          error: {
            type: event.status === 429 ? "rate_limit_error" : "api_error",
            message: event.message,
          },
        });
    }
  }

  end(): string {
    if (this.#hasFailed) return "";
    return this.#leave() +
      eventOf({
        type: "message_delta",
        delta: this.#stop(),
        usage: writeUsage(this.#usage),
      }) + eventOf({ type: "message_stop" });
  }

  #note(event: AnswerEvent): void {
    if (event.type === "start") {
      this.#id = event.id;
      this.#model = event.model;
    } else if (event.type === "usage") this.#usage = event.usage;
    else if (event.type === "finish") this.#finish = event;
  }

  #message(content: readonly JsonObject[]): JsonObject {
    return {
      id: this.#id,
      type: "message",
      role: "assistant",
      model: this.#model,
      content,
    };
  }

  #stop(): JsonObject {
    const { reason = "stop", stopSequence } = this.#finish ?? {};
    return {
      stop_reason: stopSequence === undefined
        ? stopReasons[reason]
        : "stop_sequence",
      stop_sequence: stopSequence ?? null,
    };
  }

  #enterThinking(): string {
    return this.#enter("thinking", {
      type: "thinking",
      thinking: "",
      signature: "",
    });
  }

  #enter(type: BlockType, block: JsonObject): string {
    if (this.#open === type) return "";
    const left = this.#leave();
    this.#open = type;
    this.#index++;
    return left + eventOf({
      type: "content_block_start",
      index: this.#index,
      content_block: block,
    });
  }

  #leave(): string {
    if (this.#open === undefined) return "";
    this.#open = undefined;
    return eventOf({ type: "content_block_stop", index: this.#index });
  }

  #delta(delta: JsonObject): string {
    const index = this.#index;
    return eventOf({ type: "content_block_delta", index, delta });
  }
}

/** A message of a user may have images, that of the model may not. */
function imageError(): UnknownAnswerError {
  return unknownForm("an image, which messages have no content for");
}

function writeBlock(block: Block): JsonObject {
  const { type, text, signature, id, name } = block;
  if (type === "text") return { type, text };
  if (type === "redacted_thinking") return { type, data: signature };
  if (type === "thinking") return { type, thinking: text, signature };
  const input = text === "" ? {} : BoundedJson.parse(text, MAX_QUOTED_VALUES);
  return {
    type,
    id,
    name,
    input: isJsonObject(input) ? input : {},
  };
}

function writeUsage(
  { input, cachedInput, cacheWrite, cacheWrite1h = 0, output }: AnswerUsage,
): JsonObject {
  return {
    input_tokens: Math.max(0, input - cachedInput - cacheWrite),
    cache_read_input_tokens: cachedInput,
    cache_creation_input_tokens: cacheWrite,
    ...(cacheWrite1h > 0 && {
      cache_creation: {
        ephemeral_5m_input_tokens: cacheWrite - cacheWrite1h,
        ephemeral_1h_input_tokens: cacheWrite1h,
      },
    }),
    output_tokens: output,
  };
}

function eventOf(value: JsonObject & { readonly type: string }): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
}
