import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { UntranslatableError } from "./conversation.ts";

/**
 * Reads the fields of a JSON object, and finds those that nobody has read: a field that the other API has no counterpart for is an
 * error, not a loss.
 */
export class FieldReader {
  readonly #object: JsonObject;
  readonly #path: string;
  readonly #read = new Set<string>();

  /** @param path Of the object in the body, such as `messages[0]`; empty for the body. */
  constructor(value: unknown, path = "") {
    if (!isJsonObject(value)) throw malformed(path || "the body", "an object");
    this.#object = value;
    this.#path = path;
  }

  /** Returns the path of a field. */
  at(name: string): string {
    return this.#path === "" ? name : `${this.#path}.${name}`;
  }

  /** Returns the value; `undefined` for `null` too. */
  value(name: string): unknown {
    this.#read.add(name);
    return Object.hasOwn(this.#object, name)
      ? this.#object[name] ?? undefined
      : undefined;
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
      : new FieldReader(value, this.at(name));
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
      new FieldReader(item, `${this.at(name)}[${index}]`)
    );
  }

  required<T>(name: string, value: T | undefined): T {
    if (value !== undefined) return value;
    throw new UntranslatableError(`"${this.at(name)}" is missing`);
  }

  /** Accepts a field that has one of these values, which mean the same as its absence. */
  accept(name: string, ...values: readonly unknown[]): void {
    const value = this.value(name);
    if (value === undefined) return;
    const text = JSON.stringify(value);
    if (values.some((each) => JSON.stringify(each) === text)) return;
    throw noCounterpart(this.at(name));
  }

  /** Reads fields that have no effect on the answer. */
  ignore(...names: readonly string[]): void {
    for (const name of names) this.#read.add(name);
  }

  /** @throws {UntranslatableError} If a field that is set was not read. */
  end(): void {
    for (const [name, value] of Object.entries(this.#object)) {
      if (!this.#read.has(name) && value !== null) {
        throw noCounterpart(this.at(name));
      }
    }
  }
}

/** Creates the error for a field without a counterpart. */
export function noCounterpart(path: string): UntranslatableError {
  return new UntranslatableError(
    `"${path}" has no counterpart at the provider of this model`,
  );
}

/** Creates the error for a value of another type. */
export function malformed(path: string, expected: string): UntranslatableError {
  return new UntranslatableError(`"${path}" must be ${expected}`);
}
