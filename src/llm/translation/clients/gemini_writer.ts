import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { BoundedJson } from "../../../base/json/bounded_json.ts";
import { writeLlmError } from "../../providers/llm_error.ts";
import { MAX_QUOTED_VALUES } from "../conversation/answer_format.ts";
import type {
  AnswerEvent,
  AnswerUsage,
  AnswerWriter,
  FinishReason,
} from "../conversation/conversation.ts";

const finishReasons: Readonly<Record<FinishReason, string>> = {
  stop: "STOP",
  toolCalls: "STOP",
  length: "MAX_TOKENS",
  contentFilter: "SAFETY",
};

type CallStart = Extract<AnswerEvent, { type: "toolCall" }>;

/** Writes answers of Gemini; each event of a stream is a whole answer with the next parts. */
export class GeminiWriter implements AnswerWriter {
  #id = "";
  #model = "";
  #usage: AnswerUsage | undefined;
  #reason: FinishReason = "stop";
  #hasFailed = false;
  /** A call is written when its input is complete. */
  #call: CallStart | undefined;
  #input = "";

  whole(events: readonly AnswerEvent[]): JsonObject {
    const parts: JsonObject[] = [];
    for (const part of events.flatMap((event) => this.#partsOf(event))) {
      const last = parts.at(-1);
      const isText = part["text"] !== undefined &&
        last?.["text"] !== undefined && last["thought"] === part["thought"];
      if (isText) {
        const text = `${last["text"]}${part["text"]}`;
        parts.splice(-1, 1, { ...last, ...part, text });
      } else parts.push(part);
    }
    return this.#answer([...parts, ...this.#flush()], true);
  }

  event(event: AnswerEvent): string {
    if (event.type === "error") {
      this.#hasFailed = true;
      const { status, message } = event;
      return dataOf(writeLlmError("gemini", { status, message, code: null }));
    }
    const parts = this.#partsOf(event);
    return parts.length === 0 ? "" : dataOf(this.#answer(parts, false));
  }

  end(): string {
    return this.#hasFailed ? "" : dataOf(this.#answer(this.#flush(), true));
  }

  #partsOf(event: AnswerEvent): readonly JsonObject[] {
    switch (event.type) {
      case "start":
        this.#id = event.id;
        this.#model = event.model;
        return [];
      case "text":
        return [...this.#flush(), { text: event.text }];
      case "thinking":
        return [...this.#flush(), { text: event.text, thought: true }];
      case "signature":
        return event.signature === "" ? [] : [{
          ...{ text: "", thought: true },
          thoughtSignature: event.signature,
        }];
      case "image":
        return [...this.#flush(), imageOf(event.url)];
      case "toolCall": {
        const left = this.#flush();
        this.#call = event;
        return left;
      }
      case "toolInput":
        this.#input += event.json;
        return [];
      case "usage":
        this.#usage = event.usage;
        return [];
      case "finish":
        this.#reason = event.reason;
        return [];
      default:
        return [];
    }
  }

  #flush(): readonly JsonObject[] {
    if (this.#call === undefined) return [];
    const { id, name, signature } = this.#call;
    const value = this.#input === ""
      ? {}
      : BoundedJson.parse(this.#input, MAX_QUOTED_VALUES);
    this.#call = undefined;
    this.#input = "";
    return [{
      functionCall: { id, name, args: isJsonObject(value) ? value : {} },
      ...(signature !== undefined && { thoughtSignature: signature }),
    }];
  }

  #answer(parts: readonly JsonObject[], isLast: boolean): JsonObject {
    return {
      candidates: [{
        content: { role: "model", parts },
        ...(isLast && { finishReason: finishReasons[this.#reason] }),
        index: 0,
      }],
      ...(isLast && this.#usage && { usageMetadata: writeUsage(this.#usage) }),
      modelVersion: this.#model,
      responseId: this.#id,
    };
  }
}

function imageOf(url: string): JsonObject {
  const [, mimeType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  return mimeType === undefined
    ? { fileData: { fileUri: url, mimeType: "image/png" } }
    : { inlineData: { mimeType, data } };
}

function writeUsage(
  { input, cachedInput, output, reasoning = 0 }: AnswerUsage,
): JsonObject {
  return {
    promptTokenCount: input,
    ...(cachedInput > 0 && { cachedContentTokenCount: cachedInput }),
    candidatesTokenCount: output - reasoning,
    ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
    totalTokenCount: input + output,
  };
}

function dataOf(value: unknown): string {
  return `data: ${JSON.stringify(value)}\r\n\r\n`;
}
