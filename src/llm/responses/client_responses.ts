import {
  isJsonObject,
  type JsonObject,
  parseJson,
  stringMember,
} from "../../base/json.ts";
import { UntranslatableError } from "../translation/conversation/losses.ts";
import type { StoredResponses } from "./stored_responses.ts";

/** Limits of what a request refers to: responses one after the other, and the characters of all. */
const MAX_CHAIN = 256;
const MAX_LENGTH = 8 * 1024 * 1024;

/** Responses of one client, to which its next requests refer. */
export class ClientResponses {
  readonly #store: StoredResponses;
  readonly #owner: string;

  /** @param owner Identifies the client; others do not find what it keeps. */
  constructor(store: StoredResponses, owner: string) {
    this.#store = store;
    this.#owner = owner;
  }

  /**
   * Returns a request whose `input` has the conversation that it refers to by `previous_response_id` and by items of the type
   * `item_reference`.
   * @throws {UntranslatableError} If the store does not have it any more.
   */
  async expand(body: JsonObject): Promise<JsonObject> {
    const { previous_response_id: previous, ...rest } = body;
    const { input } = body;
    if (typeof previous !== "string" && !hasReferences(input)) return body;
    const reading = new Reading((id) => this.#read(id));
    const earlier = typeof previous === "string"
      ? await reading.conversation(previous)
      : [];
    const own = await reading.resolve(inputItems(input));
    return { ...rest, input: [...earlier, ...own] };
  }

  /** Keeps a response with the request that it is for, unless that has `store: false`. */
  async keep(request: JsonObject, response: JsonObject): Promise<void> {
    const id = stringMember(response, "id");
    if (id === undefined || request["store"] === false) return;
    const { previous_response_id: previous, input } = request;
    const { output } = response;
    await Promise.all([
      this.#write(id, { output }),
      this.#write(inputOf(id), { previous, input: inputItems(input) }),
    ]);
  }

  #write(id: string, record: JsonObject): Promise<void> {
    return this.#store.keep(this.#nameOf(id), JSON.stringify(record));
  }

  #read(id: string): Promise<string | undefined> {
    return this.#store.find(this.#nameOf(id));
  }

  /** No owner and id make the name of another owner. */
  #nameOf(id: string): string {
    return JSON.stringify([this.#owner, id]);
  }
}

/** Reads the responses that one request refers to. */
class Reading {
  readonly #read: (id: string) => Promise<string | undefined>;
  readonly #known = new Map<string, JsonObject>();
  #length = 0;

  constructor(read: (id: string) => Promise<string | undefined>) {
    this.#read = read;
  }

  /** Returns the items of a conversation up to the end of a response. */
  async conversation(last: string): Promise<readonly unknown[]> {
    const turns: (readonly unknown[])[] = [];
    for (let id: unknown = last; typeof id === "string";) {
      if (turns.length >= MAX_CHAIN) throw tooLong();
      const [{ output }, { input, previous }] = [
        await this.#record(id, "previous_response_id"),
        await this.#record(inputOf(id), "previous_response_id"),
      ];
      const asked = await this.resolve(inputItems(input));
      turns.push([...asked, ...inputItems(output)]);
      id = previous;
    }
    return turns.reverse().flat();
  }

  /** Replaces references by the items that they mean. */
  async resolve(items: readonly unknown[]): Promise<readonly unknown[]> {
    const resolved: unknown[] = [];
    for (const item of items) {
      resolved.push(isReference(item) ? await this.#item(item) : item);
    }
    return resolved;
  }

  async #item(reference: JsonObject): Promise<unknown> {
    const id = stringMember(reference, "id") ?? "";
    const [, response = ""] = itemId.exec(id) ?? [];
    const { output } = await this.#record(`resp_${response}`, "id");
    const found = inputItems(output).find((item) =>
      isJsonObject(item) && item["id"] === id
    );
    if (found === undefined) throw unknown("id");
    // Short references may all mean the same long item.
    this.#count(JSON.stringify(found));
    return found;
  }

  async #record(id: string, field: string): Promise<JsonObject> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    if (this.#known.size >= 2 * MAX_CHAIN) throw tooLong();
    const text = await this.#read(id);
    this.#count(text ?? "");
    const record = text === undefined ? undefined : parseJson(text);
    if (!isJsonObject(record)) throw unknown(field);
    this.#known.set(id, record);
    return record;
  }

  #count({ length }: string): void {
    this.#length += length;
    if (this.#length > MAX_LENGTH) throw tooLong();
  }
}

/** Ids that `ResponsesWriter` gives: with that of the response. */
const itemId = /^[a-z]+_(.+)_\d+$/s;

function inputOf(id: string): string {
  return `${id}/input`;
}

function inputItems(input: unknown): readonly unknown[] {
  if (Array.isArray(input)) return input;
  return typeof input === "string" ? [{ role: "user", content: input }] : [];
}

function hasReferences(input: unknown): boolean {
  return Array.isArray(input) && input.some(isReference);
}

function isReference(item: unknown): item is JsonObject {
  return isJsonObject(item) && item["type"] === "item_reference";
}

function unknown(field: string): UntranslatableError {
  return new UntranslatableError(
    `"${field}" refers to a response that the gateway does not have, or not any more: send the whole conversation in "input", as with "store": false`,
  );
}

function tooLong(): UntranslatableError {
  return new UntranslatableError(
    'The responses that the request refers to are too many or too long: send the conversation in "input"',
  );
}
