import type { JsonObject } from "../../base/json.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { clientEmbeddings } from "../../llm/embeddings/client_embeddings.ts";
import {
  type EmbeddingModel,
  embeddingModel,
} from "../../llm/embeddings/embedding_models.ts";
import type { EmbeddingsRequest } from "../../llm/embeddings/embeddings_request.ts";
import type { LlmOperation } from "../../llm/providers/operation.ts";
import {
  Losses,
  UntranslatableError,
} from "../../llm/translation/conversation/losses.ts";
import {
  callJson,
  readAnswer,
  readRequestFields,
  respondWithJson,
} from "./json_call.ts";
import type { LlmCall } from "./llm_call.ts";
import { rejectingUntranslatable, reportLosses } from "./translated_call.ts";

/** Calls for one request, where a model takes one text at a time. */
const MAX_CALLS = 100;
/** Of Bedrock, whose models do not all report it elsewhere. */
const TOKENS_HEADER = "x-amzn-bedrock-input-token-count";

/**
 * Answers a request of OpenAI's or Gemini's for embeddings with those of a provider that has another API, in several calls where a
 * model takes few texts at a time.
 * @throws {LlmApiError}
 */
export async function sendEmbeddings(
  call: LlmCall,
  client: LlmOperation,
): Promise<ResponseMessage> {
  const { family: form } = client;
  const { body, model: name } = await readRequestFields(call, form);
  const losses = new Losses(call.target.unsupported);
  const { request, model, bodies, write } = await rejectingUntranslatable(
    form,
    () => planOf(call, client, { ...body, model: name }, losses),
  );
  reportLosses(call, losses.names);
  const embeddings: (readonly number[])[] = [];
  let tokens = 0;
  let headers = new HeaderList();
  for (const part of bodies) {
    const { operation } = model;
    const to = { operation, model: request.model, form };
    const result = await callJson(call, to, part);
    if ("error" in result) return result.error;
    headers = result.headers;
    const answer = readAnswer(() => model.read(result.answer));
    embeddings.push(...answer.embeddings);
    tokens += answer.tokens || Number(headers.get(TOKENS_HEADER) ?? 0);
  }
  call.held?.release();
  return respondWithJson(headers, write(request, embeddings, tokens));
}

/** The calls for one request. */
interface Plan {
  readonly request: EmbeddingsRequest;
  readonly model: EmbeddingModel;
  readonly bodies: readonly JsonObject[];
  write(
    request: EmbeddingsRequest,
    embeddings: readonly (readonly number[])[],
    tokens: number,
  ): JsonObject;
}

function planOf(
  { target }: LlmCall,
  { name }: LlmOperation,
  body: JsonObject,
  losses: Losses,
): Plan {
  const client = clientEmbeddings.get(name);
  if (client === undefined) throw new UntranslatableError(name);
  const request = client.read(body, losses);
  const { inputs } = request;
  const family = target.provider.translatesTo(request.model);
  const model = embeddingModel(family, request);
  const calls = Math.ceil(inputs.length / model.batch);
  if (calls > MAX_CALLS) {
    const most = MAX_CALLS * model.batch;
    throw new UntranslatableError(
      `"${client.inputs}" must have at most ${most} texts`,
    );
  }
  const bodies = Array.from({ length: calls }, (_, index) => {
    const start = index * model.batch;
    const texts = inputs.slice(start, start + model.batch);
    return model.write(texts, request, losses);
  });
  return { request, model, bodies, write: client.write };
}
