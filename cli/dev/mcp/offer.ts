import type { JsonObject } from "../../../src/base/json.ts";

/** Tools, prompts and resources of an MCP server. */
export interface Offer {
  readonly tools: Readonly<Record<string, Tool>>;
  readonly prompts: Readonly<Record<string, Prompt>>;
  readonly resources: readonly Resource[];
  readonly resourceTemplates: readonly ResourceTemplate[];
  /** Returns `undefined` when there is no such resource. */
  readResource(uri: string): ResourceContents | undefined;
  /** Returns values for any prompt argument that begin with `typed`. */
  completeArgument(typed: string): string[];
}

/** One part of a tool's result or of a prompt. */
export type Content =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "audio"; data: string; mimeType: string }
  | { type: "resource"; resource: ResourceContents };

/** Contents of a resource; `blob` is Base64. */
export type ResourceContents =
  | { uri: string; mimeType: string; text: string }
  | { uri: string; mimeType: string; blob: string };

/** Returns plain text as content. */
export function text(text: string): Content {
  return { type: "text", text };
}

/** A prompt; each content becomes one message of the user. */
export interface Prompt {
  readonly description: string;
  readonly arguments: readonly string[];
  /** Missing arguments are empty strings. */
  render(argument: (name: string) => string): readonly Content[];
}

/** A resource with a fixed URI. */
export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  readonly mimeType: string;
}

/** Resources whose URI has a variable part: `test://template/{id}/data`. */
export interface ResourceTemplate extends Omit<Resource, "uri"> {
  readonly uriTemplate: string;
}

/** JSON Schema 2020-12 of an object; clients receive it unchanged. */
export type ObjectSchema = { type: "object"; [keyword: string]: unknown };

/** A tool; an error thrown by `call` becomes a tool error that the model can read. */
export interface Tool {
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  call(input: JsonObject, caller: Caller): Content[] | Promise<Content[]>;
}

/** The client that called a tool, while the tool runs. */
export interface Caller {
  /** Sends a log message of level `info`. */
  log(message: string): Promise<void>;
  /** Reports progress if the client requested it. */
  progress(done: number, total: number): Promise<void>;
  /** Returns the response of the client's model. */
  sample(prompt: string): Promise<string>;
  /** Asks the client's user to fill in a form. */
  elicit(message: string, requestedSchema: FormSchema): Promise<JsonObject>;
  /** Notifies the client on its standalone stream that a resource changed, if the client subscribed to it. */
  resourceUpdated(uri: string): Promise<void>;
  /** Closes this call's event stream; the client must resume it with `Last-Event-ID` to receive the result. */
  disconnect(): void;
}

/** Form of an elicitation: a flat object of primitive properties. */
export interface FormSchema {
  type: "object";
  properties: Record<string, FormField>;
  required: string[];
}

/** Field of a form (MCP 2025-11-25, "Elicitation", requested schema). */
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

/** Returns the schema of an object whose listed properties are all required. */
export function objectSchema(
  properties: Record<string, JsonObject> = {},
): ObjectSchema {
  return { type: "object", properties, required: Object.keys(properties) };
}

/** Returns a string argument. @throws {TypeError} When it is not a string. */
export function readText(input: JsonObject, name: string): string {
  const value = input[name];
  if (typeof value === "string") return value;
  throw new TypeError(
    `Cannot read "${name}": expected a string, got ${JSON.stringify(value)}`,
  );
}

/** Returns a number argument. @throws {TypeError} When it is not a number. */
export function readNumber(input: JsonObject, name: string): number {
  const value = input[name];
  if (typeof value === "number") return value;
  throw new TypeError(
    `Cannot read "${name}": expected a number, got ${JSON.stringify(value)}`,
  );
}
