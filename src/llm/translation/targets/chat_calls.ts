import { type JsonObject, stringMember } from "../../../base/json.ts";
import { objectOf, unknownForm } from "../conversation/answer_fields.ts";
import { CallOrder } from "../conversation/call_order.ts";
import type { AnswerEvent } from "../conversation/conversation.ts";

interface Call {
  readonly key: number;
  readonly id: string;
}

/** Reads the calls in answers of OpenAI's chat completions and of the many servers that differ from it. */
export class ChatCalls {
  readonly #id: string;
  readonly #order = new CallOrder();
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();
  #latest: Call | undefined;
  #count = 0;

  /** @param id Part of the ids of calls that have none. */
  constructor(id: string) {
    this.#id = id;
  }

  /** Reads a call of a whole answer. */
  whole(call: JsonObject): readonly AnswerEvent[] {
    const { id, name, json } = readCall(call);
    if (id === "" && name === "") throw unknownForm("a call without a name");
    const key = this.#count++;
    return [
      { type: "toolCall", id: id || `call_${key}_${this.#id}`, name },
      { type: "toolInput", json: json || "{}" },
    ];
  }

  /** Reads a piece of a call. */
  delta(piece: JsonObject): readonly AnswerEvent[] {
    const { id, name, json } = readCall(piece);
    const known = this.#find(piece);
    // Some servers have index 0 for all calls, others a new id in each piece, but only the first piece has a name.
    const isNew = known === undefined ||
      (id !== "" && id !== known.id && name !== "");
    if (!isNew) return this.#order.input(known.key, json);
    if (id === "" && name === "") throw unknownForm("input of an unknown call");
    const key = this.#count++;
    const call = { key, id: id || `call_${key}_${this.#id}` };
    this.#latest = call;
    this.#byId.set(call.id, call);
    const { index } = piece;
    if (typeof index === "number") this.#byIndex.set(index, call);
    return [
      ...this.#order.begin(key, { type: "toolCall", id: call.id, name }),
      ...this.#order.input(key, json),
    ];
  }

  /** Adds an event beside the calls. */
  pass(event: AnswerEvent): readonly AnswerEvent[] {
    return this.#order.pass(event);
  }

  /** Returns what is held at the end of the stream. */
  finish(): readonly AnswerEvent[] {
    return this.#order.finish();
  }

  #find({ index, ...piece }: JsonObject): Call | undefined {
    if (typeof index === "number") return this.#byIndex.get(index);
    const { id, name } = readCall(piece);
    return this.#byId.get(id) ?? (name === "" ? this.#latest : undefined);
  }
}

function readCall(call: JsonObject) {
  const called = objectOf(call, "function");
  return {
    id: stringMember(call, "id") ?? "",
    name: stringMember(called, "name") ?? "",
    json: stringMember(called, "arguments") ?? "",
  };
}
