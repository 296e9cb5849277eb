import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { BoundedJson } from "../../base/json/bounded_json.ts";
import { BytesBody, textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import {
  type EmbeddingModel,
  embeddingModel,
  type EmbeddingsAnswer,
} from "../../llm/embeddings/embedding_models.ts";
import {
  type EmbeddingsRequest,
  readEmbeddings,
  writeEmbeddings,
} from "../../llm/embeddings/embeddings_request.ts";
import { modelOf } from "../../llm/llm_target.ts";
import type { LlmOperation } from "../../llm/providers/operation.ts";
import { UnknownAnswerError } from "../../llm/translation/conversation/answer_fields.ts";
import {
  Losses,
  UntranslatableError,
} from "../../llm/translation/conversation/losses.ts";
import { removeContentHeaders } from "../../policy/expressions/message_body.ts";
import { checkResponse, type LlmCall, sendAuthorized } from "./llm_call.ts";
import { toInvalidResponse } from "./translated_body.ts";
import {
  readBody,
  readText,
  rejectingUntranslatable,
  reportLosses,
  translateError,
} from "./translated_call.ts";

/** An answer has up to 100 embeddings of 3,072 numbers. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const MAX_VALUES = 500_000;
/** Calls for one request, where a model takes one text at a time. */
const MAX_CALLS = 100;
/** Of Bedrock, whose models do not all report it elsewhere. */
const TOKENS_HEADER = "x-amzn-bedrock-input-token-count";

/**
 * Answers a request of OpenAI's for embeddings with those of a provider that has another API, in several calls where a model takes
 * few texts at a time.
 * @throws {LlmApiError}
 */
export async function sendEmbeddings(
  call: LlmCall,
  operation: LlmOperation,
): Promise<ResponseMessage> {
  const { family } = operation;
  const body = await readBody(call, family);
  const losses = new Losses(call.target.unsupported);
  const plan = await rejectingUntranslatable(
    family,
    () => planOf(call, body, losses),
  );
  reportLosses(call, losses.names);
  const embeddings: (readonly number[])[] = [];
  let tokens = 0;
  let headers = new HeaderList();
  for (const part of plan.bodies) {
    const response = await send(call, plan, part);
    headers = response.headers;
    await checkResponse(call, family, response);
    if (response.status >= 400) return await translateError(response, family);
    const answer = await readAnswer(plan.model, response);
    embeddings.push(...answer.embeddings);
    tokens += answer.tokens || Number(headers.get(TOKENS_HEADER) ?? 0);
  }
  call.held?.release();
  removeContentHeaders(headers);
  headers.set("content-type", "application/json");
  const written = writeEmbeddings(plan.request, embeddings, tokens);
  return { status: 200, headers, body: textBody(JSON.stringify(written)) };
}

/** The calls for one request. */
interface Plan {
  readonly request: EmbeddingsRequest;
  readonly model: EmbeddingModel;
  readonly bodies: readonly JsonObject[];
}

function planOf({ target }: LlmCall, read: JsonObject, losses: Losses): Plan {
  const body = { ...read, ...target.changes.of(read) };
  const requested = body["model"];
  const name = modelOf(
    target,
    typeof requested === "string" ? requested : undefined,
  );
  const request = readEmbeddings({ ...body, model: name }, losses);
  const { inputs } = request;
  const model = embeddingModel(target.provider.translatesTo(name), request);
  const calls = Math.ceil(inputs.length / model.batch);
  if (calls > MAX_CALLS) {
    const most = MAX_CALLS * model.batch;
    throw new UntranslatableError(`"input" must have at most ${most} texts`);
  }
  const bodies = Array.from({ length: calls }, (_, index) => {
    const start = index * model.batch;
    return model.write(inputs.slice(start, start + model.batch), request);
  });
  return { request, model, bodies };
}

function send(
  call: LlmCall,
  { model: { operation }, request: { model } }: Plan,
  body: JsonObject,
): Promise<ResponseMessage> {
  const { provider, place } = call.target;
  const api = provider.apis[operation.family];
  const path = api?.path({ ...place, operation, model, streaming: false });
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  return sendAuthorized(
    call,
    { method: "POST", target: path ?? "", isOwn: true },
    new BytesBody(bytes),
    bytes,
  );
}

async function readAnswer(
  model: EmbeddingModel,
  response: ResponseMessage,
): Promise<EmbeddingsAnswer> {
  const text = await readText(response, MAX_ANSWER_BYTES);
  try {
    const answer = text && new BoundedJson(MAX_VALUES).parse(text);
    if (!isJsonObject(answer)) throw new UnknownAnswerError("no JSON object");
    return model.read(answer);
  } catch (error) {
    throw toInvalidResponse(error);
  }
}
