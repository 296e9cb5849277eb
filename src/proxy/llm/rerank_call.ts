import type { ResponseMessage } from "../../http/message.ts";
import type { LlmOperation } from "../../llm/providers/operation.ts";
import { rerankModel } from "../../llm/rerank/rerank_models.ts";
import { readRerank, writeRerank } from "../../llm/rerank/rerank_request.ts";
import { Losses } from "../../llm/translation/conversation/losses.ts";
import {
  callJson,
  readAnswer,
  readRequestFields,
  respondWithJson,
} from "./json_call.ts";
import type { LlmCall } from "./llm_call.ts";
import { rejectingUntranslatable, reportLosses } from "./translated_call.ts";

/**
 * Answers a request to rank documents, in the form of Cohere and Jina, with those of a provider that has another API.
 * @throws {LlmApiError}
 */
export async function sendRerank(
  call: LlmCall,
  { family: form }: LlmOperation,
): Promise<ResponseMessage> {
  const { body, model: name } = await readRequestFields(call, form);
  const { provider, unsupported } = call.target;
  const losses = new Losses(unsupported);
  const { request, model } = await rejectingUntranslatable(form, () => {
    const request = readRerank({ ...body, model: name }, losses);
    const family = provider.translatesTo(request.model);
    return { request, model: rerankModel(family, request) };
  });
  reportLosses(call, losses.names);
  const { operation } = model;
  const to = { operation, model: request.model, form };
  const result = await callJson(call, to, model.write(request));
  call.held?.release();
  if ("error" in result) return result.error;
  const ranked = readAnswer(() => model.read(result.answer, request));
  const details = { id: call.requestId, searches: model.searches(request) };
  return respondWithJson(result.headers, writeRerank(request, ranked, details));
}
