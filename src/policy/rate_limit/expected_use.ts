import type { RateLimitServices } from "./rate_limit_services.ts";
import type { RequestMessage } from "../../http/message.ts";
import {
  detectLlmApi,
  type LlmApi,
  llmApiFacts,
  readPathModel,
} from "../../llm/llm_api.ts";
import type { RequestContent } from "../../llm/request/request_content.ts";
import { readRequestFacts } from "../../llm/request/request_facts.ts";
import {
  readOutputLimit,
  UNLIMITED_OUTPUT_TOKENS,
  USUAL_OUTPUT_TOKENS,
} from "../../llm/request/output_bound.ts";
import { noUse, type Use } from "../../ratelimit/budget/budget.ts";
import {
  readLlmContent,
  readPossibleContent,
} from "../expressions/llm_content.ts";
import type { PolicyContext } from "../contract/policy.ts";
import type { PolicyServices } from "../contract/policy_services.ts";

interface Services
  extends
    Pick<RateLimitServices, "prices">,
    Pick<PolicyServices, "maxLlmBodyBytes"> {}

/**
 * Estimates the most that a request to an LLM may use: its body, and the output that it allows; of a WebSocket, its first response. A
 * request that is not for an LLM uses nothing.
 */
export async function readExpectedUse(
  { request }: Pick<PolicyContext, "request">,
  services: Services,
): Promise<Use> {
  const { method, target, upgrade } = request;
  const api = detectLlmApi(method, target);
  if (upgrade !== undefined) {
    const opensSocket = api === "realtime" && /^websocket$/i.test(upgrade);
    if (!opensSocket) return noUse;
    const counts = { inputTokens: 0, outputTokens: USUAL_OUTPUT_TOKENS };
    return await priced(readPathModel(target), counts, services);
  }
  const content = await readContent(request, api, services.maxLlmBodyBytes);
  if (content === undefined) return noUse;
  const { bytes, input } = content;
  const facts = await readRequestFacts(bytes);
  const model = readPathModel(target) ?? facts.model;
  // At an unknown path, the model shows that it is for an LLM.
  if (api === undefined && model === undefined) return noUse;
  const hasOutput = api === undefined || llmApiFacts(api).hasOutput;
  const outputTokens = hasOutput ? await outputOf(bytes) : 0;
  const counts = { inputTokens: input, outputTokens };
  return await priced(model, counts, services);
}

function readContent(
  request: RequestMessage,
  api: LlmApi | undefined,
  maxBytes: number,
): Promise<RequestContent | undefined> {
  if (api === undefined && request.method === "POST") {
    return readPossibleContent(request, maxBytes);
  }
  return api !== undefined && llmApiFacts(api).isEstimated
    ? readLlmContent(request, maxBytes)
    : Promise.resolve(undefined);
}

async function priced(
  model: string | undefined,
  counts: Pick<Use, "inputTokens" | "outputTokens">,
  { prices }: Services,
): Promise<Use> {
  if (!prices.isLoaded) await prices.load();
  const { nanoUsd } = prices.price({ model, host: undefined }, counts);
  const totalTokens = counts.inputTokens + counts.outputTokens;
  return { totalTokens, ...counts, nanoUsd };
}

async function outputOf(bytes: Uint8Array | undefined): Promise<number> {
  if (bytes === undefined) return UNLIMITED_OUTPUT_TOKENS;
  return await readOutputLimit(bytes) ?? USUAL_OUTPUT_TOKENS;
}
