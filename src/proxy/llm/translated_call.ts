import { utf8 } from "../../base/bytes.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";
import { BoundedJson } from "../../base/json/bounded_json.ts";
import { messageWork } from "../../base/slices.ts";
import { JsonProblem } from "../../base/json/json_ambiguity.ts";
import { readJson } from "../../base/json/json_reader.ts";
import { JsonSelection, WHOLE } from "../../base/json/json_shape.ts";
import { BytesBody, textBody } from "../../http/body.ts";
import type { HeldBytes } from "../../http/body_memory.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { readPathModel } from "../../llm/llm_api.ts";
import { modelOf, targetApiOf } from "../../llm/llm_target.ts";
import { writeLlmError } from "../../llm/providers/llm_error.ts";
import type { LlmFamily, LlmOperation } from "../../llm/providers/operation.ts";
import { UnknownAnswerError } from "../../llm/translation/conversation/answer_fields.ts";
import { UntranslatableError } from "../../llm/translation/conversation/losses.ts";
import type { OnResponse } from "../../llm/translation/clients/responses_writer.ts";
import {
  readErrorMessage,
  readRequest,
  type Translation,
} from "../../llm/translation/translation.ts";
import { targetApis } from "../../llm/translation/targets/target_apis.ts";
import { removeContentHeaders } from "../../policy/expressions/message_body.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";
import { invalidRequest, readBytes } from "./llm_body.ts";
import { checkResponse, type LlmCall, sendAuthorized } from "./llm_call.ts";
import { toInvalidResponse, TranslatedBody } from "./translated_body.ts";

/** A whole answer is a few hundred kilobytes at most. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/** Limit of the values of a request or an answer: translating so many takes 30 ms, in one turn. */
const MAX_VALUES = 30_000;
/** Fields of a request; no API has a tenth of them. */
const MAX_FIELDS = 500;

const decoder = new TextDecoder();

const checked = new JsonSelection({ model: WHOLE, stream: WHOLE }, MAX_VALUES);

/**
 * Sends a request to a provider that has no such API: translated to an API of the provider, and the answer back.
 * @throws {LlmApiError} `llm_request_invalid` when something in the request has no counterpart there; the message names it.
 */
export async function sendTranslated(
  call: LlmCall,
  operation: LlmOperation,
): Promise<ResponseMessage> {
  const { target } = call;
  const { family } = operation;
  const own = target.changes.applyTo(await readBody(call, family));
  const { body, onResponse, kept }: Referring = operation.name === "responses"
    ? await withReferences(call, family, own)
    : { body: own };
  // As rules see it.
  const requested = readPathModel(call.request.target) ?? body["model"];
  const model = modelOf(
    target,
    typeof requested === "string" ? requested : undefined,
  );
  const translation = await translateOrReject(call, operation, {
    ...{ body, model, onResponse },
  });
  reportLosses(call, translation.losses);
  const response = await sendTranslation(call, translation, model);
  const checked = await checkResponse(call, family, response);
  return await translateResponse(call, checked, translation, { family, kept });
}

/** Sends a request as it is in the provider's API. */
async function sendTranslation(
  call: LlmCall,
  { operation, body, stream, query }: Translation,
  model: string | undefined,
): Promise<ResponseMessage> {
  const { provider, place } = call.target;
  const { family } = operation;
  const path = provider.apis[family]?.path({
    ...{ ...place, operation, model, streaming: stream },
  }) ?? "";
  const text = JSON.stringify(adapted(call, body, family));
  if (isLong(text.length)) await messageWork.pass();
  const bytes = utf8(text);
  if (isLong(bytes.length)) await messageWork.pass();
  try {
    return await sendAuthorized(
      call,
      { method: "POST", target: path + query, isOwn: true },
      new BytesBody(bytes),
      bytes,
    );
  } finally {
    call.held?.release();
  }
}

/**
 * Reads the whole body as JSON.
 * @throws {LlmApiError}
 */
export async function readBody(
  call: LlmCall,
  family: LlmFamily,
): Promise<JsonObject> {
  const bytes = await readBytes(call, family);
  try {
    // Checks it in steps; what is written for the provider is no longer ambiguous.
    await readJson(bytes, checked);
    const text = decoder.decode(bytes);
    if (isLong(bytes.length)) await messageWork.pass();
    const body = parseJson(text);
    if (isLong(bytes.length)) await messageWork.pass();
    if (isJsonObject(body) && Object.keys(body).length <= MAX_FIELDS) {
      return body;
    }
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    throw invalidRequest(family, `Cannot read the body: ${error.message}`);
  }
  throw invalidRequest(
    family,
    `Cannot read the body: it is no object with at most ${MAX_FIELDS} fields`,
  );
}

/** Shorter bodies are handled at once. */
const SHORT_LENGTH = 512 * 1024;

/** Reports whether other requests go on between two steps of work on a body. */
function isLong(length: number): boolean {
  return length > SHORT_LENGTH;
}

/** A request with the conversation that it refers to. */
interface Referring {
  readonly body: JsonObject;
  readonly onResponse?: OnResponse;
  /** Resolves when the response can be referred to. */
  readonly kept?: (() => Promise<void>) | undefined;
}

/** Adds the conversation to which a request of OpenAI's responses refers, and keeps its response for the next one. */
async function withReferences(
  { responses }: LlmCall,
  family: LlmFamily,
  body: JsonObject,
): Promise<Referring> {
  let keeping = Promise.resolve();
  const expanded = await rejectingUntranslatable(
    family,
    () => responses.expand(body),
  );
  return {
    body: expanded,
    onResponse: (response) => {
      keeping = responses.keep(body, response);
    },
    kept: () => keeping,
  };
}

function translateOrReject(
  call: LlmCall,
  operation: LlmOperation,
  { body, model, onResponse }: {
    readonly body: JsonObject;
    readonly model: string | undefined;
    readonly onResponse: OnResponse | undefined;
  },
): Promise<Translation> {
  const { clock, requestId, target, media } = call;
  const name = targetApiOf(target, model);
  return rejectingUntranslatable(operation.family, () => {
    const { urls, write } = readRequest(operation, body, {
      target: name,
      model,
      id: requestId,
      now: clock.now(),
      unsupported: target.unsupported,
      marksCaches: target.marksCaches,
      takesUrls: target.provider.apis[targetApis[name].family]?.takesUrls,
      ...(onResponse && { onResponse }),
    });
    return urls.length === 0 ? write() : media.fetch(urls, call).then(write);
  });
}

/**
 * Returns the result of a translation.
 * @throws {LlmApiError} `llm_request_invalid` in place of `UntranslatableError`.
 */
export async function rejectingUntranslatable<Result>(
  family: LlmFamily,
  translation: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await translation();
  } catch (error) {
    if (!(error instanceof UntranslatableError)) throw error;
    throw invalidRequest(family, error.message);
  }
}

/** Records which fields the provider does not get. */
export function reportLosses(
  { attempts, trace }: LlmCall,
  losses: readonly string[],
): void {
  attempts.dropped = losses;
  if (losses.length === 0) return;
  const details = { dropped: losses.join(", ") };
  trace?.report({ type: "policyEvent", kind: "llm", details });
}

/** Makes the body that of this provider: some have the model in the path, or another name for the limit of the output. */
function adapted(
  { target: { provider } }: LlmCall,
  body: JsonObject,
  family: LlmFamily,
): JsonObject {
  const api = provider.apis[family];
  const name = family === "openai"
    ? provider.outputLimit ?? "max_tokens"
    : "max_tokens";
  const isSame = name === "max_tokens" && api?.hasModelInPath !== true &&
    api?.replacesModel === undefined;
  if (isSame) return body;
  const { model, max_tokens: limit, ...rest } = body;
  return {
    ...(model !== undefined && api?.hasModelInPath !== true && { model }),
    ...rest,
    ...(limit !== undefined && { [name]: limit }),
    ...api?.replacesModel,
  };
}

async function translateResponse(
  { held }: LlmCall,
  response: ResponseMessage,
  // Without the request, which may be long.
  { stream, reader, writer }: Translation,
  { family, kept }: {
    readonly family: LlmFamily;
    readonly kept: Referring["kept"];
  },
): Promise<ResponseMessage> {
  const { headers, status, body } = response;
  const contentType = headers.get("content-type") ?? "";
  removeContentHeaders(headers);
  headers.delete("content-type");
  if (status >= 400) return await translateError(response, family);
  if (stream && body !== undefined) {
    headers.set("content-type", "text/event-stream");
    response.body = new TranslatedBody(body, contentType, {
      ...{ reader, writer, kept },
    });
    return response;
  }
  headers.set("content-type", "application/json");
  const text = await readText(response, MAX_ANSWER_BYTES, held);
  const answer = text && BoundedJson.parse(text, MAX_VALUES);
  try {
    if (!isJsonObject(answer)) throw new UnknownAnswerError("no JSON object");
    const events = reader.whole(answer);
    response.body = textBody(JSON.stringify(writer.whole(events)));
    if (kept !== undefined) await kept();
    return response;
  } catch (error) {
    throw toInvalidResponse(error);
  }
}

/** Only Anthropic has this status, for an overloaded API. */
const OVERLOADED = 529;
const UNAVAILABLE = 503;

/** Returns the error of a provider in the form of the client's API. */
export async function translateError(
  response: ResponseMessage,
  family: LlmFamily,
): Promise<ResponseMessage> {
  const { headers } = response;
  const text = await readText(response, MAX_ERROR_BYTES) ?? "";
  const status = response.status === OVERLOADED ? UNAVAILABLE : response.status;
  const message = readErrorMessage(text) ??
    `The provider returned ${response.status}`;
  const body = writeLlmError(family, { status, message, code: null });
  headers.set("content-type", "application/json");
  return { status, headers, body: textBody(JSON.stringify(body)) };
}

/** Reads the text of a response; `undefined` if it is too long. */
export async function readText(
  response: ResponseMessage,
  maxBytes: number,
  held?: HeldBytes,
): Promise<string | undefined> {
  const holder = { body: response.body, held };
  try {
    const bytes = await peekBody(holder, maxBytes);
    if (bytes === undefined) holder.body?.cancel("too long");
    return bytes && decoder.decode(bytes);
  } catch (error) {
    holder.body?.cancel(error);
    throw error;
  }
}
