import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../../base/json.ts";
import {
  countOf,
  indexOf,
  objectOf,
  objectsOf,
  unknownForm,
} from "../conversation/answer_fields.ts";
import { CallOrder } from "../conversation/call_order.ts";
import type {
  AnswerEvent,
  AnswerReader,
  ChatRequest,
  FinishReason,
} from "../conversation/conversation.ts";
import { FORMAT_TOOL } from "../conversation/answer_format.ts";

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "toolCalls"],
  ["guardrail_intervened", "contentFilter"],
  ["content_filtered", "contentFilter"],
]);

/** Reads answers of Bedrock's Converse, which do not name id and model. */
export class ConverseReader implements AnswerReader {
  readonly #model: string;
  readonly #id: string;
  readonly #hasFormat: boolean;
  /** Index of the call of the format: its input is the text. */
  #formatIndex: number | undefined;
  readonly #calls = new CallOrder();
  #finish: AnswerEvent[] = [];

  /** @param id Of the answer. */
  constructor({ model, format }: ChatRequest, id: string) {
    this.#model = model;
    this.#id = id;
    this.#hasFormat = format !== undefined;
  }

  whole(answer: JsonObject): readonly AnswerEvent[] {
    const message = objectOf(objectOf(answer, "output"), "message");
    const content = objectsOf(message, "content").flatMap((block, index) => [
      ...this.#readBlock(block, index),
      ...this.#calls.end(index),
    ]);
    const usage = usageOf(answer);
    return [this.#start(), ...content, ...usage, this.#finishOf(answer)];
  }

  event(event: JsonObject): readonly AnswerEvent[] {
    const index = indexOf(event, "contentBlockIndex");
    if (isJsonObject(event["delta"])) return this.#delta(event["delta"], index);
    if (isJsonObject(event["start"])) {
      const call = event["start"]["toolUse"];
      return isJsonObject(call) ? this.#callStarts(call, index) : [];
    }
    if ("stopReason" in event) {
      // The usage comes after it, but other APIs have it before.
      this.#finish = [this.#finishOf(event)];
      return this.#calls.finish();
    }
    if ("usage" in event) return usageOf(event);
    if ("role" in event) return [this.#start()];
    if ("contentBlockIndex" in event) return this.#calls.end(index);
    const message = stringMember(event, "message");
    if (message === undefined) return [];
    return [{ type: "error", status: 500, message }];
  }

  end(): readonly AnswerEvent[] {
    return this.#finish;
  }

  #start(): AnswerEvent {
    return { type: "start", id: this.#id, model: this.#model };
  }

  #readBlock(block: JsonObject, index: number): readonly AnswerEvent[] {
    const text = stringMember(block, "text");
    if (text !== undefined) return this.#calls.pass({ type: "text", text });
    const call = block["toolUse"];
    if (isJsonObject(call)) {
      const input = JSON.stringify(call["input"] ?? {});
      return [...this.#callStarts(call, index), ...this.#input(input, index)];
    }
    const reasoning = block["reasoningContent"];
    if (!isJsonObject(reasoning)) {
      throw unknownForm(`content "${Object.keys(block)[0]}"`);
    }
    const data = stringMember(reasoning, "redactedContent");
    if (data !== undefined) return this.#calls.pass({ type: "redacted", data });
    const thought = objectOf(reasoning, "reasoningText");
    return [
      { type: "thinking", text: stringMember(thought, "text") ?? "" } as const,
      {
        type: "signature",
        signature: stringMember(thought, "signature") ?? "",
      } as const,
    ].flatMap((event) => this.#calls.pass(event));
  }

  #callStarts(call: JsonObject, index: number): readonly AnswerEvent[] {
    const name = stringMember(call, "name") ?? "";
    if (this.#hasFormat && name === FORMAT_TOOL) {
      this.#formatIndex = index;
      return [];
    }
    const id = stringMember(call, "toolUseId") ?? "";
    return this.#calls.begin(index, { type: "toolCall", id, name });
  }

  #delta(delta: JsonObject, index: number): readonly AnswerEvent[] {
    const text = stringMember(delta, "text");
    if (text !== undefined) return this.#calls.pass({ type: "text", text });
    const call = delta["toolUse"];
    if (isJsonObject(call)) {
      return this.#input(stringMember(call, "input") ?? "", index);
    }
    const reasoning = objectOf(delta, "reasoningContent");
    const thought = stringMember(reasoning, "text");
    if (thought !== undefined) {
      return this.#calls.pass({ type: "thinking", text: thought });
    }
    const data = stringMember(reasoning, "redactedContent");
    if (data !== undefined) return this.#calls.pass({ type: "redacted", data });
    const signature = stringMember(reasoning, "signature");
    return signature === undefined
      ? []
      : this.#calls.pass({ type: "signature", signature });
  }

  #input(json: string, index: number): readonly AnswerEvent[] {
    if (json === "") return [];
    return index === this.#formatIndex
      ? this.#calls.pass({ type: "text", text: json })
      : this.#calls.input(index, json);
  }

  #finishOf(answer: JsonObject): AnswerEvent {
    const reason = stringMember(answer, "stopReason") ?? "end_turn";
    if (reason.startsWith("malformed_")) throw unknownForm(`a ${reason}`);
    return {
      type: "finish",
      reason: this.#formatIndex !== undefined && reason === "tool_use"
        ? "stop"
        : finishReasons.get(reason) ?? "stop",
    };
  }
}

function usageOf(answer: JsonObject): readonly AnswerEvent[] {
  const usage = objectOf(answer, "usage");
  const cachedInput = countOf(usage, "cacheReadInputTokens");
  const cacheWrite = countOf(usage, "cacheWriteInputTokens");
  return [{
    type: "usage",
    usage: {
      input: countOf(usage, "inputTokens") + cachedInput + cacheWrite,
      cachedInput,
      cacheWrite,
      cacheWrite1h: objectsOf(usage, "cacheDetails")
        .filter(({ ttl }) => ttl === "1h")
        .reduce((sum, each) => sum + countOf(each, "inputTokens"), 0),
      output: countOf(usage, "outputTokens"),
      reasoning: undefined,
    },
  }];
}
