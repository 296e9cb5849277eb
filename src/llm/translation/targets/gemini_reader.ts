import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../../base/json.ts";
import {
  countOf,
  objectOf,
  objectsOf,
  unknownForm,
} from "../conversation/answer_fields.ts";
import type {
  AnswerEvent,
  AnswerReader,
  FinishReason,
} from "../conversation/conversation.ts";

/** Parts that only tools of Google, files or sound have. */
const unknownParts = ["executableCode", "codeExecutionResult", "fileData"];

function readImage(image: JsonObject): AnswerEvent {
  const type = stringMember(image, "mimeType") ?? "";
  if (!type.startsWith("image/")) throw unknownForm(`content of type ${type}`);
  const data = stringMember(image, "data") ?? "";
  return { type: "image", url: `data:${type};base64,${data}` };
}

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
]);
/** The model has called something in a form that nobody can read. */
const unreadable =
  /^(?:MALFORMED_|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS|MISSING_THOUGHT)/;

/** Reads answers of Gemini; each event of a stream is a whole answer with the next parts. */
export class GeminiReader implements AnswerReader {
  readonly #id: string;
  #hasStarted = false;
  #calls = 0;
  #usage: JsonObject | undefined;
  #finish: FinishReason | undefined;

  /** @param id Of answers that have none, and part of those of calls. */
  constructor(id: string) {
    this.#id = id;
  }

  whole(answer: JsonObject): readonly AnswerEvent[] {
    return [...this.event(answer), ...this.end()];
  }

  event(answer: JsonObject): readonly AnswerEvent[] {
    const error = answer["error"];
    if (isJsonObject(error)) {
      const message = stringMember(error, "message") ?? "unknown error";
      return [{
        type: "error",
        status: countOf(error, "code") || 500,
        message,
      }];
    }
    const [candidate = {}] = objectsOf(answer, "candidates");
    const parts = objectsOf(objectOf(candidate, "content"), "parts");
    const events = [
      ...this.#start(answer),
      ...parts.flatMap((part) => this.#readPart(part)),
    ];
    if (isJsonObject(answer["usageMetadata"])) {
      this.#usage = answer["usageMetadata"];
    }
    const reason = stringMember(candidate, "finishReason");
    if (reason !== undefined) {
      if (unreadable.test(reason)) throw unknownForm(`a ${reason}`);
      this.#finish = finishReasons.get(reason) ?? "contentFilter";
    } else if (
      objectOf(answer, "promptFeedback")["blockReason"] !== undefined
    ) {
      this.#finish = "contentFilter";
    }
    return events;
  }

  end(): readonly AnswerEvent[] {
    const usage = this.#usage ?? {};
    const reasoning = countOf(usage, "thoughtsTokenCount");
    const finish: AnswerEvent[] = this.#finish === undefined ? [] : [{
      type: "finish",
      reason: this.#finish === "stop" && this.#calls > 0
        ? "toolCalls"
        : this.#finish,
    }];
    return [{
      type: "usage",
      usage: {
        input: countOf(usage, "promptTokenCount") +
          countOf(usage, "toolUsePromptTokenCount"),
        cachedInput: countOf(usage, "cachedContentTokenCount"),
        cacheWrite: 0,
        output: countOf(usage, "candidatesTokenCount") + reasoning,
        reasoning,
      },
    }, ...finish];
  }

  #start(answer: JsonObject): readonly AnswerEvent[] {
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    return [{
      type: "start",
      id: stringMember(answer, "responseId") ?? this.#id,
      model: stringMember(answer, "modelVersion") ?? "",
    }];
  }

  #readPart(part: JsonObject): readonly AnswerEvent[] {
    const call = part["functionCall"];
    if (isJsonObject(call)) {
      const name = stringMember(call, "name") ?? "";
      this.#calls++;
      return [
        {
          type: "toolCall",
          id: stringMember(call, "id") ?? `call_${this.#calls}_${this.#id}`,
          name,
          signature: stringMember(part, "thoughtSignature"),
        },
        { type: "toolInput", json: JSON.stringify(call["args"] ?? {}) },
      ];
    }
    const image = part["inlineData"];
    if (isJsonObject(image)) return [readImage(image)];
    const unknown = unknownParts.find((name) => part[name] !== undefined);
    if (unknown !== undefined) throw unknownForm(`content "${unknown}"`);
    const text = stringMember(part, "text");
    if (text === undefined || text === "") return [];
    return [{ type: part["thought"] === true ? "thinking" : "text", text }];
  }
}
