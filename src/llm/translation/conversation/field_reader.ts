import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import type { CacheMark } from "./conversation.ts";
import {
  type Losses,
  malformed,
  noCounterpart,
  UntranslatableError,
} from "./losses.ts";

/**
 * Reads the fields of a JSON object, and finds those that nobody has read: a field that the other API has no counterpart for is an
 * error, not a loss.
 */
export class FieldReader {
  readonly losses: Losses;
  readonly #object: JsonObject;
  readonly #names: readonly string[];
  readonly #path: string;
  /** Fields of the object that were read: few, as an object has few of those that an API knows. */
  readonly #read: string[] = [];

  /** @param path Of the object in the body, such as `messages[0]`; empty for the body. */
  constructor(value: unknown, losses: Losses, path = "") {
    if (!isJsonObject(value)) throw malformed(path || "the body", "an object");
    this.losses = losses;
    this.#object = value;
    this.#names = Object.keys(value);
    this.#path = path;
  }

  /** Returns the path of a field. */
  at(name: string): string {
    return this.#path === "" ? name : `${this.#path}.${name}`;
  }

  /** Returns the value; `undefined` for `null` too. */
  value(name: string): unknown {
    for (const own of this.#names) {
      if (own !== name) continue;
      this.#read.push(name);
      return this.#object[name] ?? undefined;
    }
    return undefined;
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "string") return value;
    throw malformed(this.at(name), "a string");
  }

  number(name: string): number | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "number") return value;
    throw malformed(this.at(name), "a number");
  }

  boolean(name: string): boolean | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw malformed(this.at(name), "true or false");
  }

  object(name: string): FieldReader | undefined {
    const value = this.value(name);
    return value === undefined
      ? undefined
      : new FieldReader(value, this.losses, this.at(name));
  }

  /** Returns an object as it is. */
  json(name: string): JsonObject | undefined {
    const value = this.value(name);
    if (value === undefined || isJsonObject(value)) return value;
    throw malformed(this.at(name), "an object");
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.value(name);
    if (value === undefined || Array.isArray(value)) return value;
    throw malformed(this.at(name), "a list");
  }

  /** Returns the objects of a list; empty when there is none. */
  objects(name: string): readonly FieldReader[] {
    return (this.list(name) ?? []).map((item, index) =>
      new FieldReader(item, this.losses, `${this.at(name)}[${index}]`)
    );
  }

  required<T>(name: string, value: T | undefined): T {
    if (value !== undefined) return value;
    throw new UntranslatableError(`"${this.at(name)}" is missing`);
  }

  /** Accepts a field that has one of these values, which mean the same as its absence. */
  accept(name: string, ...values: readonly unknown[]): void {
    if (!this.#isOneOf(name, values)) throw noCounterpart(this.at(name));
  }

  #isOneOf(name: string, values: readonly unknown[]): boolean {
    const value = this.value(name);
    if (value === undefined) return true;
    const text = JSON.stringify(value);
    return values.some((each) => JSON.stringify(each) === text);
  }

  /** Drops fields that only advise the provider, and that no other API has. */
  hint(...names: readonly string[]): void {
    for (const name of names) {
      if (this.value(name) !== undefined) this.losses.drop(this.at(name));
    }
  }

  /** The same for fields that have values with no effect, by name. */
  hints(fields: Readonly<Record<string, readonly unknown[]>>): void {
    for (const name of this.#names) {
      const values = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (values !== undefined && !this.#isOneOf(name, values)) this.hint(name);
    }
  }

  /** Reads a mark for the prompt cache, as Anthropic has it, and OpenRouter and LiteLLM after it. */
  cache(): CacheMark | undefined {
    const mark = this.object("cache_control");
    if (mark === undefined) return undefined;
    mark.accept("type", "ephemeral");
    const ttl = mark.text("ttl");
    mark.end();
    return { ttl: ttl === "5m" || ttl === "1h" ? ttl : undefined };
  }

  /** Reads fields that have no effect on the answer. */
  ignore(...names: readonly string[]): void {
    this.#read.push(...names);
  }

  /** @throws {UntranslatableError} If a field that is set was not read. */
  end(): void {
    for (const name of this.#names) {
      if (this.#read.includes(name) || this.#object[name] === null) continue;
      throw noCounterpart(this.at(name));
    }
  }
}
