import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { BoundedJson } from "../../base/json/bounded_json.ts";
import { BytesBody, textBody } from "../../http/body.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { modelOf } from "../../llm/llm_target.ts";
import type { LlmFamily, LlmOperation } from "../../llm/providers/operation.ts";
import { readPathModel } from "../../llm/llm_api.ts";
import { UnknownAnswerError } from "../../llm/translation/conversation/answer_fields.ts";
import { removeContentHeaders } from "../../policy/expressions/message_body.ts";
import { checkResponse, type LlmCall, sendAuthorized } from "./llm_call.ts";
import { toInvalidResponse } from "./translated_body.ts";
import { readBody, readText, translateError } from "./translated_call.ts";

/** An answer has up to 100 embeddings of 3,072 numbers. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const MAX_VALUES = 500_000;

/** Answer of a provider in JSON, or an error in the form of the client's API. */
export type JsonAnswer =
  | { readonly answer: JsonObject; readonly headers: HeaderList }
  | { readonly error: ResponseMessage };

/**
 * Reads a request as the backend's configuration changes it.
 * @throws {LlmApiError}
 */
export async function readRequestFields(
  call: LlmCall,
  family: LlmFamily,
): Promise<{ readonly body: JsonObject; readonly model: string | undefined }> {
  const { target, request } = call;
  const body = target.changes.applyTo(await readBody(call, family));
  const requested = readPathModel(request.target) ?? body["model"];
  const name = typeof requested === "string" ? requested : undefined;
  return { body, model: modelOf(target, name) };
}

/** Calls an operation of the provider. @param form API of the client, for errors. */
export async function callJson(
  call: LlmCall,
  { operation, model, form }: {
    readonly operation: LlmOperation;
    readonly model: string;
    readonly form: LlmFamily;
  },
  body: JsonObject,
): Promise<JsonAnswer> {
  const { provider, place } = call.target;
  const api = provider.apis[operation.family];
  const path = api?.path({ ...place, operation, model, streaming: false });
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const response = await sendAuthorized(
    call,
    { method: "POST", target: path ?? "", isOwn: true },
    new BytesBody(bytes),
    bytes,
  );
  await checkResponse(call, form, response);
  if (response.status >= 400) {
    removeContentHeaders(response.headers);
    return { error: await translateError(response, form) };
  }
  const text = await readText(response, MAX_ANSWER_BYTES);
  const answer = text && BoundedJson.parse(text, MAX_VALUES);
  if (isJsonObject(answer)) return { answer, headers: response.headers };
  throw toInvalidResponse(new UnknownAnswerError("no JSON object"));
}

/**
 * Reads an answer.
 * @throws {GatewayError} `llm_response_invalid` in place of `UnknownAnswerError`.
 */
export function readAnswer<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw toInvalidResponse(error);
  }
}

/** Returns the response to a client with the fields of a provider's. */
export function respondWithJson(
  headers: HeaderList,
  body: JsonObject,
): ResponseMessage {
  removeContentHeaders(headers);
  headers.set("content-type", "application/json");
  return { status: 200, headers, body: textBody(JSON.stringify(body)) };
}
