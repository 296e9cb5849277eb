import { detectLlmApi, llmApiFacts } from "../../llm/llm_api.ts";
import { readPathModel } from "../../llm/llm_api.ts";
import { readRequestFacts } from "../../llm/request_facts.ts";
import {
  readOutputLimit,
  UNLIMITED_OUTPUT_TOKENS,
  USUAL_OUTPUT_TOKENS,
} from "../../llm/usage/output_bound.ts";
import { noUse, type Use } from "../../ratelimit/budget.ts";
import { readLlmContent } from "../expressions/llm_content.ts";
import type { PolicyContext } from "../policy.ts";
import type { PolicyServices } from "../policy_services.ts";

interface Services extends Pick<PolicyServices, "prices" | "maxBufferBytes"> {}

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
  if (api === undefined || !llmApiFacts(api).isEstimated) return noUse;
  const { maxBufferBytes } = services;
  const { bytes, input } = await readLlmContent(request, maxBufferBytes);
  const outputTokens = llmApiFacts(api).hasOutput ? await outputOf(bytes) : 0;
  const facts = await readRequestFacts(bytes);
  const model = readPathModel(target) ?? facts.model;
  const counts = { inputTokens: input.tokens(model), outputTokens };
  return await priced(model, counts, services);
}

async function priced(
  model: string | undefined,
  counts: Pick<Use, "inputTokens" | "outputTokens">,
  { prices }: Services,
): Promise<Use> {
  if (!prices.isLoaded) await prices.load();
  const { nanoUsd } = prices.price({ model, host: undefined }, counts);
  const tokens = counts.inputTokens + counts.outputTokens;
  return { tokens, ...counts, usd: nanoUsd };
}

async function outputOf(bytes: Uint8Array | undefined): Promise<number> {
  if (bytes === undefined) return UNLIMITED_OUTPUT_TOKENS;
  return await readOutputLimit(bytes) ?? USUAL_OUTPUT_TOKENS;
}
