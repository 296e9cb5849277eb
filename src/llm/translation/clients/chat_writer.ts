import type { JsonObject } from "../../../base/json.ts";
import type {
  AnswerEvent,
  AnswerUsage,
  AnswerWriter,
  FinishReason,
} from "../conversation/conversation.ts";
import { joinCallId } from "../conversation/fitted_names.ts";

const finishReasons: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  length: "length",
  toolCalls: "tool_calls",
  contentFilter: "content_filter",
};

/** Content of a message, whole or in a chunk. */
interface Delta {
  role?: "assistant";
  content?: string;
  reasoning_content?: string;
  thinking_blocks?: readonly JsonObject[];
  tool_calls?: readonly JsonObject[];
  /** OpenAI has no field for them; this is that of OpenRouter and LiteLLM. */
  images?: readonly JsonObject[];
}

/** Writes answers of OpenAI's chat completions. Reasoning is in `reasoning_content`, and signed in `thinking_blocks`. */
export class ChatWriter implements AnswerWriter {
  readonly #created: number;
  readonly #includeUsage: boolean;
  #id = "";
  #model = "";
  #calls = 0;
  #thinking = "";
  #usage: AnswerUsage | undefined;

  /** @param createdAt Milliseconds since the epoch. */
  constructor(includeUsage: boolean, createdAt: number) {
    this.#includeUsage = includeUsage;
    this.#created = Math.floor(createdAt / 1000);
  }

  whole(events: readonly AnswerEvent[]): JsonObject {
    const message: Delta = {};
    const calls: {
      id: string;
      name: string;
      signature?: string;
      json: string;
    }[] = [];
    const blocks: JsonObject[] = [];
    let finish: FinishReason = "stop";
    for (const event of events) {
      if (event.type === "start") this.#starts(event);
      else if (event.type === "text") {
        message.content = (message.content ?? "") + event.text;
      } else if (event.type === "thinking") {
        this.#thinking += event.text;
        message.reasoning_content = (message.reasoning_content ?? "") +
          event.text;
      } else if (event.type === "signature") {
        blocks.push(this.#block(event.signature));
      } else if (event.type === "redacted") {
        blocks.push(redactedBlock(event.data));
      } else if (event.type === "image") {
        message.images = [...message.images ?? [], imageOf(event.url)];
      } else if (event.type === "toolCall") {
        const { name, signature } = event;
        const id = joinCallId(event.id, signature);
        calls.push({ id, name, json: "", ...(signature && { signature }) });
      } else if (event.type === "toolInput") {
        const call = calls.at(-1);
        if (call !== undefined) call.json += event.json;
      } else if (event.type === "usage") this.#usage = event.usage;
      else if (event.type === "finish") finish = event.reason;
    }
    return {
      ...this.#head("chat.completion"),
      choices: [{
        index: 0,
        message: {
          role: "assistant",
          content: null,
          refusal: null,
          ...message,
          ...(blocks.length > 0 && { thinking_blocks: blocks }),
          ...(calls.length > 0 && {
            tool_calls: calls.map(({ id, name, json, signature }) => ({
              id,
              type: "function",
              function: { name, arguments: json || "{}" },
              ...extraOf(signature),
            })),
          }),
        },
        logprobs: null,
        finish_reason: finishReasons[finish],
      }],
      ...(this.#usage && { usage: writeUsage(this.#usage) }),
    };
  }

  event(event: AnswerEvent): string {
    switch (event.type) {
      case "start":
        this.#starts(event);
        return this.#chunk({ role: "assistant", content: "" });
      case "text":
        return this.#chunk({ content: event.text });
      case "thinking":
        this.#thinking += event.text;
        return this.#chunk({ reasoning_content: event.text });
      case "signature":
        return this.#chunk({ thinking_blocks: [this.#block(event.signature)] });
      case "redacted":
        return this.#chunk({ thinking_blocks: [redactedBlock(event.data)] });
      case "image":
        return this.#chunk({ images: [imageOf(event.url)] });
      case "toolCall":
        return this.#chunk({
          tool_calls: [{
            index: this.#calls++,
            id: joinCallId(event.id, event.signature),
            type: "function",
            function: { name: event.name, arguments: "" },
            ...extraOf(event.signature),
          }],
        });
      case "toolInput":
        return this.#chunk({
          tool_calls: [{
            index: this.#calls - 1,
            function: { arguments: event.json },
          }],
        });
      case "usage":
        this.#usage = event.usage;
        return "";
      case "finish":
        return this.#chunk({}, finishReasons[event.reason]);
      case "error":
        return dataOf({
          error: {
            message: event.message,
            type: "server_error",
            code: String(event.status),
          },
        });
    }
  }

  end(): string {
    const usage = this.#includeUsage && this.#usage !== undefined
      ? dataOf({
        ...this.#head("chat.completion.chunk"),
        choices: [],
        usage: writeUsage(this.#usage),
      })
      : "";
    return `${usage}data: [DONE]\n\n`;
  }

  #starts({ id, model }: { readonly id: string; readonly model: string }) {
    this.#id = id;
    this.#model = model;
  }

  /** Ends a block of reasoning. */
  #block(signature: string): JsonObject {
    const thinking = this.#thinking;
    this.#thinking = "";
    return { type: "thinking", thinking, signature };
  }

  #chunk(delta: Delta, finish: string | null = null): string {
    return dataOf({
      ...this.#head("chat.completion.chunk"),
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(this.#includeUsage && { usage: null }),
    });
  }

  #head(object: string): JsonObject {
    const [id, model] = [this.#id, this.#model];
    return { id, object, created: this.#created, model };
  }
}

function redactedBlock(data: string): JsonObject {
  return { type: "redacted_thinking", data };
}

function imageOf(url: string): JsonObject {
  return { type: "image_url", image_url: { url } };
}

/** The place of Google's own translation, where its SDKs look. */
function extraOf(signature: string | undefined): JsonObject {
  return signature === undefined
    ? {}
    : { extra_content: { google: { thought_signature: signature } } };
}

function writeUsage(
  { input, output, cachedInput, cacheWrite, reasoning }: AnswerUsage,
): JsonObject {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cachedInput,
      ...(cacheWrite > 0 && { cache_write_tokens: cacheWrite }),
    },
    ...(reasoning !== undefined &&
      { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

function dataOf(value: JsonObject): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
