import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";

/** Error for a request that the API rejects, in the words of its provider. */
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

/** Error format of a provider. */
export interface Dialect {
  /** Response header that carries the request id. */
  readonly requestIdHeader: string;
  invalidJson(): LlmError;
  missingField(field: string): LlmError;
  wrongType(field: string, expected: string): LlmError;
  errorBody(error: LlmError, requestId: string): JsonObject;
}

/** Reads the fields of a request body, with errors in the provider's words. */
export class RequestFields {
  readonly #body: JsonObject;
  readonly #dialect: Dialect;

  /** @throws {LlmError} When `text` is not a JSON object. */
  constructor(text: string, dialect: Dialect) {
    this.#dialect = dialect;
    this.#body = parseObject(text, dialect);
  }

  /** Returns a string. @throws {LlmError} When the field is missing or not a string. */
  text(name: string): string {
    const value = this.#required(name);
    if (typeof value === "string") return value;
    throw this.#dialect.wrongType(name, "a string");
  }

  /** Returns a list of objects. @throws {LlmError} When the field is missing or not such a list. */
  objects(name: string): JsonObject[] {
    const value = this.#required(name);
    if (Array.isArray(value) && value.length > 0 && value.every(isJsonObject)) {
      return value;
    }
    throw this.#dialect.wrongType(name, "an array of objects");
  }

  /** Returns an optional positive integer. @throws {LlmError} When the field has another value. */
  count(name: string): number | undefined {
    const value = this.optional(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value > 0) {
      return value;
    }
    throw this.#dialect.wrongType(name, "a positive integer");
  }

  /** Returns a boolean, false if the field is missing. @throws {LlmError} When the field has another value. */
  flag(name: string): boolean {
    const value = this.optional(name) ?? false;
    if (typeof value === "boolean") return value;
    throw this.#dialect.wrongType(name, "a boolean");
  }

  /** Returns the field unchecked; `undefined` for `null`. */
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

/** A call of an LLM API. */
export interface Call {
  /** Hexadecimal; equal for calls with equal content, so that they get equal responses. */
  readonly id: string;
  readonly fields: RequestFields;
}

/** A JSON response, or the framed server-sent events of a streamed one. */
export type Reply =
  | { readonly json: JsonObject; readonly events?: never }
  | { readonly json?: never; readonly events: Iterable<string> };

/** Handles calls of one path. @throws {LlmError} When the call is not valid. */
export type Endpoint = (call: Call) => Reply;

/** Creation time of every response in seconds: 2025-01-01, so that responses can be compared. */
export const CREATED_AT = 1_735_689_600;

/** Frames a named event, as Anthropic and the Responses API do. */
export function namedEvent(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
