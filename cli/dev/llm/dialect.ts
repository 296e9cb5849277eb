import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";

/** A request that the API refuses, in the words of its provider. */
export class LlmError extends Error {
  override readonly name = "LlmError";

  constructor(
    readonly status: number,
    message: string,
    readonly details: { readonly field?: string; readonly code?: string } = {},
  ) {
    super(message);
  }
}

/** How one provider words its refusals. */
export interface Dialect {
  /** Response header that carries the request id. */
  readonly requestIdHeader: string;
  invalidJson(): LlmError;
  missingField(field: string): LlmError;
  wrongType(field: string, expected: string): LlmError;
  errorBody(error: LlmError, requestId: string): JsonObject;
}

/** The fields of a request body, read one at a time with errors in the provider's words. */
export class RequestFields {
  readonly #body: JsonObject;
  readonly #dialect: Dialect;

  /** @throws {LlmError} when `text` is not a JSON object */
  constructor(text: string, dialect: Dialect) {
    this.#dialect = dialect;
    this.#body = parseObject(text, dialect);
  }

  /** @throws {LlmError} when the field is missing or not a string */
  text(name: string): string {
    const value = this.#required(name);
    if (typeof value === "string") return value;
    throw this.#dialect.wrongType(name, "a string");
  }

  /** @throws {LlmError} when the field is missing or not a list of objects */
  objects(name: string): JsonObject[] {
    const value = this.#required(name);
    if (Array.isArray(value) && value.length > 0 && value.every(isJsonObject)) {
      return value;
    }
    throw this.#dialect.wrongType(name, "an array of objects");
  }

  /** @throws {LlmError} when the field is there but not a positive whole number */
  count(name: string): number | undefined {
    const value = this.optional(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value > 0) {
      return value;
    }
    throw this.#dialect.wrongType(name, "a positive integer");
  }

  /** @throws {LlmError} when the field is there but not a boolean */
  flag(name: string): boolean {
    const value = this.optional(name) ?? false;
    if (typeof value === "boolean") return value;
    throw this.#dialect.wrongType(name, "a boolean");
  }

  /** The field as it is; `undefined` also for `null`. */
  optional(name: string): unknown {
    return this.#body[name] ?? undefined;
  }

  #required(name: string): unknown {
    const value = this.optional(name);
    if (value === undefined) throw this.#dialect.missingField(name);
    return value;
  }
}

function parseObject(text: string, dialect: Dialect): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw dialect.invalidJson();
  }
  if (isJsonObject(value)) return value;
  throw dialect.invalidJson();
}
