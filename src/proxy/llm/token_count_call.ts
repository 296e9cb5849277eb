import { type JsonObject, parseJson } from "../../base/json.ts";
import { BytesBody, textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { readPathModel } from "../../llm/llm_api.ts";
import { modelOf, targetApiOf } from "../../llm/llm_target.ts";
import type { ProviderApi } from "../../llm/providers/llm_provider.ts";
import type { LlmOperation } from "../../llm/providers/operation.ts";
import { estimateLongInput } from "../../llm/request/input_estimate.ts";
import {
  readCount,
  readCountRequest,
  writeCount,
} from "../../llm/translation/token_count.ts";
import { targetApis } from "../../llm/translation/targets/target_apis.ts";
import { checkResponse, type LlmCall, sendAuthorized } from "./llm_call.ts";
import {
  readBody,
  readText,
  rejectingUntranslatable,
} from "./translated_call.ts";

const MAX_COUNT_BYTES = 64 * 1024;

/**
 * Counts the tokens of a request at the provider of its model; estimates them, and says so, where that does not count.
 * @throws {LlmApiError}
 */
export async function countTokens(
  call: LlmCall,
  counting: LlmOperation,
): Promise<ResponseMessage> {
  const { target: { provider, place } } = call;
  const { family } = counting;
  const read = await readBody(call, family);
  const requested = readPathModel(call.request.target) ?? read["model"];
  const model = modelOf(
    call.target,
    typeof requested === "string" ? requested : undefined,
  );
  const target = targetApiOf(call.target, model);
  const api = provider.apis[targetApis[target].family];
  const { wrapsCount, takesUrls } = api ?? {};
  const count = await rejectingUntranslatable(
    family,
    async () => {
      const options = { target, model, wrapsCount, takesUrls };
      const { urls, write } = readCountRequest(counting, read, options);
      return write(await call.media.fetch(urls, call));
    },
  );
  let tokens = 0;
  if (count !== undefined && serves(api, count.operation)) {
    const { operation, body, field } = count;
    const path = api.path({ ...place, operation, model, streaming: false });
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    const response = await sendAuthorized(
      call,
      { method: "POST", target: path, isOwn: true },
      new BytesBody(bytes),
      bytes,
    );
    await checkResponse(call, family, response);
    if (response.status === 429) return response;
    const text = await readText(response, MAX_COUNT_BYTES) ?? "";
    if (response.status === 200) tokens = readCount(parseJson(text), field);
  }
  call.held?.release();
  if (tokens > 0) return respond(writeCount(counting, tokens), false);
  const bytes = new TextEncoder().encode(JSON.stringify(read));
  return respond(writeCount(counting, await estimateLongInput(bytes)), true);
}

function serves(
  api: ProviderApi | undefined,
  { name }: LlmOperation,
): api is ProviderApi {
  return api !== undefined && (api.operations?.includes(name) ?? true);
}

function respond(count: JsonObject, isEstimate: boolean): ResponseMessage {
  const headers = HeaderList.from([["content-type", "application/json"]]);
  if (isEstimate) headers.append("x-gateway-token-count", "estimate");
  const body = textBody(JSON.stringify(count));
  return { status: 200, headers, body };
}
