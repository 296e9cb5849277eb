import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../../base/json.ts";
import {
  objectOf,
  objectsOf,
  openAiUsage,
} from "../conversation/answer_fields.ts";
import { ChatCalls } from "./chat_calls.ts";
import type {
  AnswerEvent,
  AnswerReader,
  FinishReason,
} from "../conversation/conversation.ts";

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "toolCalls"],
  ["function_call", "toolCalls"],
  ["content_filter", "contentFilter"],
]);

/** Reads answers of OpenAI's chat completions. */
export class ChatReader implements AnswerReader {
  readonly #calls: ChatCalls;
  #hasStarted = false;
  #finish: AnswerEvent[] = [];

  /** @param id Part of the ids of calls that have none. */
  constructor(id: string) {
    this.#calls = new ChatCalls(id);
  }

  whole(answer: JsonObject): readonly AnswerEvent[] {
    const [choice = {}] = objectsOf(answer, "choices");
    const message = objectOf(choice, "message");
    return [
      ...this.#start(answer),
      ...readTexts(message),
      ...objectsOf(message, "tool_calls").flatMap((call) =>
        this.#calls.whole(call)
      ),
      ...openAiUsage(answer, "prompt", "completion"),
      ...this.#finishOf(choice),
    ];
  }

  event(event: JsonObject): readonly AnswerEvent[] {
    const error = event["error"];
    if (isJsonObject(error)) {
      const message = stringMember(error, "message") ?? "unknown error";
      return [{ type: "error", status: 500, message }];
    }
    const [choice = {}] = objectsOf(event, "choices");
    // The usage comes after it, but other APIs have it before.
    this.#finish.push(...this.#finishOf(choice));
    const delta = objectOf(choice, "delta");
    return [
      ...this.#start(event),
      ...readTexts(delta).flatMap((text) => this.#calls.pass(text)),
      ...objectsOf(delta, "tool_calls").flatMap((call) =>
        this.#calls.delta(call)
      ),
      ...(isJsonObject(event["usage"])
        ? openAiUsage(event, "prompt", "completion")
        : []),
    ];
  }

  end(): readonly AnswerEvent[] {
    return [...this.#calls.finish(), ...this.#finish];
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

  #finishOf(choice: JsonObject): AnswerEvent[] {
    const reason = stringMember(choice, "finish_reason");
    return reason === undefined
      ? []
      : [{ type: "finish", reason: finishReasons.get(reason) ?? "stop" }];
  }
}

function readTexts(message: JsonObject): readonly AnswerEvent[] {
  const events: AnswerEvent[] = [];
  const thought = stringMember(message, "reasoning_content") ??
    stringMember(message, "reasoning");
  if (thought) events.push({ type: "thinking", text: thought });
  const text = stringMember(message, "content") ??
    stringMember(message, "refusal");
  if (text) events.push({ type: "text", text });
  // Of OpenRouter and others.
  for (const image of objectsOf(message, "images")) {
    const url = stringMember(objectOf(image, "image_url"), "url");
    if (url) events.push({ type: "image", url });
  }
  return events;
}
