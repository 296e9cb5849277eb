import { JsonProblem } from "../../base/json/json_ambiguity.ts";
import { type JsonSpan, readJson } from "../../base/json/json_reader.ts";
import { JsonSelection, WHOLE } from "../../base/json/json_shape.ts";
import type { RequestMessage } from "../../http/message.ts";
import { peekBody } from "../expressions/peeked_body.ts";

const selection = new JsonSelection({ id: WHOLE });

/** IDs are short; a long one is not repeated. */
const MAX_ID_BYTES = 1024;
const MAX_MESSAGE_BYTES = 1 << 20;

/**
 * Returns the ID of the JSON-RPC request in the body, as the JSON that the client sent, such as `"a"` or `7`; the body stays.
 * `undefined` for a notification, and for an ID that cannot be repeated.
 */
export async function readRequestId(
  request: RequestMessage,
): Promise<string | undefined> {
  const bytes = await peekBody(request, MAX_MESSAGE_BYTES);
  if (bytes === undefined) return undefined;
  const spans = new Map<string, JsonSpan>();
  try {
    await readJson(bytes, selection, spans);
  } catch (error) {
    if (error instanceof JsonProblem) return undefined;
    throw error;
  }
  const { start, end } = spans.get("id") ?? { start: 0, end: 0 };
  if (end - start > MAX_ID_BYTES) return undefined;
  const id = new TextDecoder().decode(bytes.subarray(start, end));
  return /^["\d-]/.test(id) ? id : undefined;
}

/** Returns a JSON-RPC error response. @param id JSON of the ID of the request. */
export function errorMessage(
  id: string,
  code: number,
  message: string,
): string {
  const error = JSON.stringify({ code, message });
  return `{"jsonrpc":"2.0","id":${id},"error":${error}}`;
}
