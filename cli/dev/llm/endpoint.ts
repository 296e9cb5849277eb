import type { JsonObject } from "../../../src/base/json.ts";
import type { RequestFields } from "./dialect.ts";

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
