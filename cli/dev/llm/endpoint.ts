import type { JsonObject } from "../../../src/base/json.ts";
import type { RequestFields } from "./dialect.ts";

/** One call of an LLM API. */
export interface Call {
  /** Hexadecimal; equal for calls of equal content, so that equal calls get equal answers. */
  readonly id: string;
  readonly fields: RequestFields;
}

/** A whole answer, or the server-sent events of a streamed one, each framed and ready to send. */
export type Reply =
  | { readonly json: JsonObject; readonly events?: never }
  | { readonly json?: never; readonly events: Iterable<string> };

/** Answers calls to one path. @throws {LlmError} when the call is not valid */
export type Endpoint = (call: Call) => Reply;

/** When every answer claims to have been made, in seconds: 2025-01-01, so that answers can be compared. */
export const CREATED_AT = 1_735_689_600;

/** Frames an event that has a name, as Anthropic and the Responses API do. */
export function namedEvent(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
