import { JsonRpcError, LlmApiError } from "../../base/errors.ts";
import { isJsonObject, parseJson, stringMember } from "../../base/json.ts";
import { BytesBody, textBody } from "../../http/body.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { detectLlmApi } from "../../llm/llm_api.ts";
import { errorHeaders, writeLlmError } from "../../llm/providers/llm_error.ts";
import {
  type LlmFamily,
  readOperation,
} from "../../llm/providers/operation.ts";
import type { Listener, Route } from "../../snapshot/snapshot.ts";
import type { Rejection } from "../../policy/contract/rejection.ts";
import { removeContentHeaders } from "../../policy/expressions/message_body.ts";
import type { Exchange } from "../exchange/exchange.ts";

/**
 * Gives an error of the gateway itself the form of the client's API, so that its SDK shows the reason; other requests than those to
 * LLMs keep theirs.
 * @param response Of an error or of a policy that rejects the request: its body is in memory.
 */
export function inClientForm(
  exchange: Exchange,
  response: ResponseMessage,
): ResponseMessage {
  const { error, requestId, policyRun } = exchange;
  const { status, headers, body: original } = response;
  const form = error instanceof LlmApiError ? error.form : formOf(exchange);
  if (form === undefined || status < 400 || error instanceof JsonRpcError) {
    return response;
  }
  if (!(original instanceof BytesBody)) return response;
  const text = new TextDecoder().decode(original.read());
  const rejection = error === undefined ? policyRun?.rejection : undefined;
  const message = error instanceof LlmApiError
    ? error.publicMessage
    // Whose limit it is, and which, is what a client asks first.
    : isOfLimit(rejection) && status === 429
    ? limitMessage(rejection.message, headers.get("retry-after"))
    : readMessage(text);
  const code = error?.code ?? rejection?.reason ?? null;
  const body = writeLlmError(form, { status, message, code, requestId });
  removeContentHeaders(headers);
  headers.set("content-type", "application/json");
  for (const [name, value] of errorHeaders(form, status, requestId)) {
    headers.set(name, value);
  }
  return { ...response, body: textBody(JSON.stringify(body)) };
}

function isOfLimit(rejection: Rejection | undefined): rejection is Rejection {
  return rejection?.reason === "rate_limit" ||
    rejection?.reason === "api_key_budget";
}

function limitMessage(message: string, seconds: string | undefined): string {
  return seconds === undefined
    ? message
    : `${message}; try again in ${seconds} s`;
}

/** Reads what a policy says: a text, or `error_description`. */
function readMessage(text: string): string {
  const body = parseJson(text);
  return isJsonObject(body)
    ? stringMember(body, "error_description") ?? text
    : text;
}

/** Returns the API whose form a client expects; `undefined` for requests that are not for an LLM. */
function formOf({ routed, originalRequest, request }: Exchange) {
  const { route, listener } = routed;
  const { method, target } = originalRequest;
  if (route !== undefined) {
    if (!isForLlms(route)) return undefined;
  } else if (
    listener === undefined || detectLlmApi(method, target) === undefined ||
    !hasLlms(listener, routed.hostname)
  ) return undefined;
  const isAnthropic = request.headers.has("anthropic-version");
  const usual: LlmFamily = isAnthropic
    ? "anthropic"
    : request.headers.has("x-goog-api-key")
    ? "gemini"
    : "openai";
  return readOperation(method, target, isAnthropic)?.family ?? usual;
}

function isForLlms({ backends }: Route): boolean {
  return backends.some(({ backend }) => backend?.llm !== undefined);
}

/** A hostname may have thousands of routes. */
const MAX_ROUTES = 256;

function hasLlms({ routes }: Listener, hostname: string): boolean {
  return routes.candidates(hostname).take(MAX_ROUTES).some(isForLlms);
}
