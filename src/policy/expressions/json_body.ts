import { GatewayError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { JsonProblem } from "../../base/json/json_ambiguity.ts";
import { type JsonSpan, readJson } from "../../base/json/json_reader.ts";
import type { JsonSelection } from "../../base/json/json_shape.ts";
import type { RequestMessage } from "../../http/message.ts";
import { peekBody } from "./peeked_body.ts";
import { assertReadableContent, isForm } from "./readable_content.ts";

/**
 * Reads members of the JSON object in a request's body, and leaves the body unchanged. Returns `null` without a body, `undefined`
 * for a body that is not a JSON object or longer than `maxBytes`.
 * @param spans Receives the ranges of what was read, as `readJson` does.
 * @throws {GatewayError} `unsupported_media_type` or `bad_request` if backends may read the body differently.
 */
export async function readJsonBody(
  request: RequestMessage,
  maxBytes: number,
  selection: JsonSelection,
  spans?: Map<string, JsonSpan>,
): Promise<JsonObject | null | undefined> {
  if (request.body === undefined) return null;
  assertReadableContent(request.headers);
  const bytes = await peekBody(request, maxBytes);
  if (bytes?.length === 0) return null;
  if (bytes === undefined || isForm(request.headers)) return undefined;
  try {
    const value = await readJson(bytes, selection, spans);
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    if (error.isAmbiguous) throw ambiguousBody(error.message);
    return undefined;
  }
}

/** Creates the error for a body that servers may read differently. */
function ambiguousBody(problem: string): GatewayError {
  return new GatewayError(
    "bad_request",
    "downstream",
    `Cannot accept the body, backends may read it differently: ${problem}`,
  );
}
