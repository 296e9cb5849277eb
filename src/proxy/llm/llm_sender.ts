import { LlmApiError } from "../../base/errors.ts";
import { BytesBody } from "../../http/body.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { ProviderApi } from "../../llm/providers/llm_provider.ts";
import {
  type LlmFamily,
  type LlmOperation,
  readOperation,
} from "../../llm/providers/operation.ts";
import { isEmbeddings } from "../../llm/embeddings/client_embeddings.ts";
import { hasRerank } from "../../llm/rerank/rerank_models.ts";
import { hasEmbeddings } from "../../llm/embeddings/embedding_models.ts";
import { countsTokens } from "../../llm/translation/token_count.ts";
import { isTranslatable } from "../../llm/translation/translation.ts";
import { prepareBody, readBytes, readModel } from "./llm_body.ts";
import { checkResponse, type LlmCall, sendAuthorized } from "./llm_call.ts";
import { providerQuery } from "./llm_headers.ts";
import { listModels } from "./model_list.ts";
import { openRealtime, readRealtimeOperation } from "./realtime_call.ts";
import { countTokens } from "./token_count_call.ts";
import { sendEmbeddings } from "./embeddings_call.ts";
import { sendRerank } from "./rerank_call.ts";
import { sendTranslated } from "./translated_call.ts";

/**
 * Sends a request to a provider as that expects it: its path, its model, its key in place of the client's.
 * @throws {LlmApiError} When the provider has no such operation, rejects the gateway's key, or the body cannot be read.
 */
export async function sendToProvider(
  call: LlmCall,
): Promise<ResponseMessage> {
  const { request, body } = call;
  const { method, target, headers } = request;
  const isAnthropic = headers.has("anthropic-version");
  const realtime = readRealtimeOperation(request);
  if (realtime !== undefined) return await sendOperation(call, realtime);
  const operation = readOperation(method, target, isAnthropic);
  if (operation === undefined) {
    body?.cancel("unknown path");
    throw unknownPath(call, isAnthropic ? "anthropic" : "openai");
  }
  return "model" in operation
    ? await listModels(call, operation)
    : await sendOperation(call, operation);
}

async function sendOperation(
  call: LlmCall,
  operation: LlmOperation,
): Promise<ResponseMessage> {
  const { target: { provider, speaksResponses }, body } = call;
  const api = provider.apis[operation.family];
  const isServed = api !== undefined &&
    (api.operations?.includes(operation.name) ?? true) &&
    !(speaksResponses && operation.name === "chat/completions");
  if (!isServed && countsTokens(operation)) {
    return await countTokens(call, operation);
  }
  if (!isServed && isTranslatable(operation)) {
    return await sendTranslated(call, operation);
  }
  const family = provider.translatesTo(undefined);
  if (!isServed && isEmbeddings(operation) && hasEmbeddings(family)) {
    return await sendEmbeddings(call, operation);
  }
  if (!isServed && operation.name === "rerank" && hasRerank(family)) {
    return await sendRerank(call, operation);
  }
  if (!isServed) {
    body?.cancel("unsupported operation");
    throw unknownPath(call, operation.family);
  }
  if (api.serves !== undefined && isTranslatable(operation)) {
    const { family } = operation;
    const bytes = await readBytes(call, family);
    const whole = { ...call, body: new BytesBody(bytes) };
    const model = await readModel(whole, bytes, family);
    return model === undefined || api.serves(model)
      ? await sendAsItIs(whole, operation, api)
      : await sendTranslated(whole, operation);
  }
  if (
    provider.mayLack?.includes(operation.name) === true && !speaksResponses
  ) {
    return await sendOrTranslate(call, operation, api);
  }
  if (operation.name === "realtime") {
    return await openRealtime(call, operation, api);
  }
  return await sendAsItIs(call, operation, api);
}

/** Statuses of servers that do not have a path. */
const missing: ReadonlySet<number> = new Set([404, 405, 501]);
/** Known answers to the question if the server of a backend has an operation that others lack. */
const hasOperation = new WeakMap<LlmCall["target"], boolean>();

/** Sends a request as it is, and translates it where the server does not have the operation. */
async function sendOrTranslate(
  call: LlmCall,
  operation: LlmOperation,
  api: ProviderApi,
): Promise<ResponseMessage> {
  const { target, body, maxBufferBytes } = call;
  const known = hasOperation.get(target);
  if (known === false) return await sendTranslated(call, operation);
  const length = body?.length ?? Infinity;
  if (known === true || length > maxBufferBytes) {
    return await sendAsItIs(call, operation, api);
  }
  const bytes = await readBytes(call, operation.family);
  const again = () => ({ ...call, body: new BytesBody(bytes) });
  const response = await sendAsItIs(again(), operation, api);
  if (!missing.has(response.status)) {
    if (response.status < 400) hasOperation.set(target, true);
    return response;
  }
  response.body?.cancel("translated instead");
  const translated = await sendTranslated(again(), operation);
  // Another reason for 404 is a model that the server does not have.
  if (translated.status < 400) hasOperation.set(target, false);
  return translated;
}

async function sendAsItIs(
  call: LlmCall,
  operation: LlmOperation,
  api: ProviderApi,
): Promise<ResponseMessage> {
  const { target: { place }, request } = call;
  const pending = prepareBody(call, operation, api);
  const prepared = pending instanceof Promise ? await pending : pending;
  const { model, streaming } = prepared;
  const path = api.path({ ...place, operation, model, streaming });
  try {
    const response = await sendAuthorized(
      call,
      { method: request.method, target: path + providerQuery(request.target) },
      prepared.body,
      prepared.bytes,
    );
    return await checkResponse(call, operation.family, response);
  } finally {
    call.held?.release();
  }
}

function unknownPath(
  { target: { name }, request: { method, target } }: LlmCall,
  form: LlmFamily,
): LlmApiError {
  const path = target.split("?", 1)[0];
  return new LlmApiError(
    "llm_path_unknown",
    "downstream",
    `Cannot forward ${method} ${path}: provider ${name} has no such operation behind this gateway`,
    form,
  );
}
