import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../../base/json.ts";
import {
  indexOf,
  objectOf,
  objectsOf,
  openAiUsage,
  unknownForm,
} from "../conversation/answer_fields.ts";
import { CallOrder } from "../conversation/call_order.ts";
import type {
  AnswerEvent,
  AnswerReader,
  FinishReason,
} from "../conversation/conversation.ts";
import { sealOpenAiReasoning } from "../conversation/openai_reasoning.ts";

/** Reads answers of OpenAI's responses. */
export class ResponsesReader implements AnswerReader {
  readonly #calls = new CallOrder();
  /** Indexes of calls whose arguments have come in pieces. */
  readonly #streamed = new Set<number>();
  #hasCalls = false;
  #hasStarted = false;

  whole(answer: JsonObject): readonly AnswerEvent[] {
    const message = errorMessage(answer);
    if (message !== undefined) throw unknownForm(`failed: ${message}`);
    return [
      ...this.#start(answer),
      ...objectsOf(answer, "output").flatMap((item, index) => [
        ...readSaid(item).flatMap((event) => this.#calls.pass(event)),
        ...this.#begin(item, index),
        ...this.#complete(item, index),
      ]),
      ...this.#finish(answer),
    ];
  }

  event(event: JsonObject): readonly AnswerEvent[] {
    const index = indexOf(event, "output_index");
    switch (event["type"]) {
      case "response.created":
      case "response.in_progress":
        return this.#start(objectOf(event, "response"));
      case "response.output_item.added":
        return this.#begin(objectOf(event, "item"), index);
      case "response.output_item.done":
        return this.#complete(objectOf(event, "item"), index);
      case "response.output_text.delta":
      case "response.refusal.delta":
        return this.#delta("text", event);
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return this.#delta("thinking", event);
      case "response.reasoning_summary_part.added":
        return indexOf(event, "summary_index") === 0
          ? []
          : this.#calls.pass({ type: "thinking", text: "\n\n" });
      case "response.function_call_arguments.delta":
        this.#streamed.add(index);
        return this.#calls.input(index, stringMember(event, "delta") ?? "");
      case "response.completed":
      case "response.incomplete":
        return this.#finish(objectOf(event, "response"));
      case "response.failed":
        return [failureOf(objectOf(event, "response"))];
      case "error":
        return [failureOf({ error: event })];
      default:
        return [];
    }
  }

  end(): readonly AnswerEvent[] {
    return [];
  }

  #start(answer: JsonObject): readonly AnswerEvent[] {
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    return [{
      type: "start",
      id: stringMember(answer, "id") ?? "",
      model: stringMember(answer, "model") ?? "",
    }];
  }

  #delta(
    type: "text" | "thinking",
    event: JsonObject,
  ): readonly AnswerEvent[] {
    const text = stringMember(event, "delta") ?? "";
    return text === "" ? [] : this.#calls.pass({ type, text });
  }

  #begin(item: JsonObject, index: number): readonly AnswerEvent[] {
    if (item["type"] !== "function_call") return [];
    this.#hasCalls = true;
    const id = stringMember(item, "call_id") ?? stringMember(item, "id") ?? "";
    const name = stringMember(item, "name") ?? "";
    return this.#calls.begin(index, { type: "toolCall", id, name });
  }

  /** Ends an item: the end of reasoning has its encrypted form. */
  #complete(item: JsonObject, index: number): readonly AnswerEvent[] {
    const type = item["type"];
    if (type === "function_call") {
      const json = this.#streamed.has(index)
        ? ""
        : stringMember(item, "arguments") ?? "";
      return [...this.#calls.input(index, json), ...this.#calls.end(index)];
    }
    const encrypted = stringMember(item, "encrypted_content");
    if (type !== "reasoning" || !encrypted) return [];
    const id = stringMember(item, "id") ?? "";
    const signature = sealOpenAiReasoning({ id, encrypted });
    return this.#calls.pass({ type: "signature", signature });
  }

  #finish(answer: JsonObject): readonly AnswerEvent[] {
    return [
      ...this.#calls.finish(),
      ...openAiUsage(answer, "input", "output"),
      { type: "finish", reason: this.#reasonOf(answer) },
    ];
  }

  #reasonOf(answer: JsonObject): FinishReason {
    const incomplete = objectOf(answer, "incomplete_details");
    if (answer["status"] === "incomplete") {
      return incomplete["reason"] === "content_filter"
        ? "contentFilter"
        : "length";
    }
    return this.#hasCalls ? "toolCalls" : "stop";
  }
}

/** Reads the texts of an item of a whole answer. */
function readSaid(item: JsonObject): readonly AnswerEvent[] {
  if (item["type"] === "message") {
    return objectsOf(item, "content").flatMap((part) => {
      const text = stringMember(part, "text") ?? stringMember(part, "refusal");
      return text ? [{ type: "text", text } as const] : [];
    });
  }
  if (item["type"] !== "reasoning") return [];
  const parts = [...objectsOf(item, "summary"), ...objectsOf(item, "content")];
  const text = parts.map((part) => stringMember(part, "text") ?? "")
    .filter((each) => each !== "").join("\n\n");
  return text === "" ? [] : [{ type: "thinking", text }];
}

const statuses: ReadonlyMap<string, number> = new Map([
  ["rate_limit_exceeded", 429],
  ["insufficient_quota", 429],
  ["context_length_exceeded", 400],
  ["invalid_prompt", 400],
]);

function failureOf(answer: JsonObject): AnswerEvent {
  const code = stringMember(objectOf(answer, "error"), "code") ?? "";
  return {
    type: "error",
    status: statuses.get(code) ?? 500,
    message: errorMessage(answer) ?? "The provider failed to answer",
  };
}

function errorMessage({ error }: JsonObject): string | undefined {
  return isJsonObject(error)
    ? stringMember(error, "message") ?? stringMember(error, "code")
    : undefined;
}
