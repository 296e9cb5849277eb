import type { JsonObject } from "../../../src/base/json.ts";
import type { Content } from "./content.ts";

/** JSON Schema 2020-12 of an object; it reaches clients exactly as written. */
export type ObjectSchema = { type: "object"; [keyword: string]: unknown };

/** A tool of the playground; whatever `call` throws becomes a tool error that the model can read. */
export interface Tool {
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  call(input: JsonObject, caller: Caller): Content[] | Promise<Content[]>;
}

/** What a tool can do, while it runs, towards the client that called it. */
export interface Caller {
  /** Sends a log message of level `info`. */
  log(message: string): Promise<void>;
  /** Says how far the call is; silent unless the client asked for progress. */
  progress(done: number, total: number): Promise<void>;
  /** Asks the client's model; answers with its text. */
  sample(prompt: string): Promise<string>;
  /** Asks the client's user to fill in a form. */
  elicit(message: string, requestedSchema: FormSchema): Promise<JsonObject>;
  /** Tells the client that a resource changed, on its standalone stream, if it subscribed to it. */
  resourceUpdated(uri: string): Promise<void>;
  /** Ends this call's event stream; the client has to resume it with `Last-Event-ID` to get the answer. */
  disconnect(): void;
}

/** Form of an elicitation: a flat object of primitive properties. */
export interface FormSchema {
  type: "object";
  properties: Record<string, FormField>;
  required: string[];
}

/** The kinds of field that a form may have (MCP 2025-11-25, "Elicitation", requested schema). */
export type FormField =
  | { type: "string"; description: string; default?: string }
  | { type: "number" | "integer"; description: string; default?: number }
  | { type: "boolean"; description: string; default?: boolean }
  | {
    type: "string";
    description: string;
    enum: string[];
    enumNames?: string[];
    default?: string;
  }
  | { type: "string"; description: string; oneOf: Choice[] }
  | {
    type: "array";
    description: string;
    items: { type: "string"; enum: string[] };
  }
  | { type: "array"; description: string; items: { anyOf: Choice[] } };

interface Choice {
  const: string;
  title: string;
}

/** Schema of an object whose listed properties are all required. */
export function objectSchema(
  properties: Record<string, JsonObject> = {},
): ObjectSchema {
  return { type: "object", properties, required: Object.keys(properties) };
}

/** @throws {TypeError} when the argument is not a string */
export function readText(input: JsonObject, name: string): string {
  const value = input[name];
  if (typeof value === "string") return value;
  throw new TypeError(
    `Cannot read "${name}": expected a string, got ${JSON.stringify(value)}`,
  );
}

/** @throws {TypeError} when the argument is not a number */
export function readNumber(input: JsonObject, name: string): number {
  const value = input[name];
  if (typeof value === "number") return value;
  throw new TypeError(
    `Cannot read "${name}": expected a number, got ${JSON.stringify(value)}`,
  );
}
