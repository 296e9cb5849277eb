import type { JsonObject } from "../../../src/base/json.ts";
import type { InputNeeded } from "./input.ts";

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
  render(
    argument: (name: string) => string,
    caller: Caller,
  ): readonly Content[] | InputNeeded;
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
  call(input: JsonObject, caller: Caller): Outcome | Promise<Outcome>;
}

type Outcome = Content[] | InputNeeded;

/** The client that called a tool or got a prompt, until the result. */
export interface Caller {
  /** Capabilities that the client declared, as it sent them. */
  readonly capabilities: JsonObject;
  /** State that the call before kept in `InputNeeded`. */
  readonly state: JsonObject | undefined;
  /** Returns the client's response to a request of `InputNeeded`, as it sent it; `undefined` if there is none. */
  response(name: string): JsonObject | undefined;
  /** Sends a log message of level `info`, if the client wants such messages. */
  log(message: string): Promise<void>;
  /** Reports progress if the client requested it. */
  progress(done: number, total: number): Promise<void>;
  /** Notifies subscribers that something changed. */
  readonly notify: Notifier;
  /** Closes this call's event stream; the client must resume it with `Last-Event-ID` to receive the result. */
  disconnect(): void;
}

/** Notifies the clients that subscribed to such changes. */
export interface Notifier {
  toolsChanged(): void | Promise<void>;
  promptsChanged(): void | Promise<void>;
  resourceUpdated(uri: string): void | Promise<void>;
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
