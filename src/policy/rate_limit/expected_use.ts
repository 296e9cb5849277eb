import { detectLlmApi, llmApiFacts } from "../../llm/llm_api.ts";
import { readPathModel } from "../../llm/llm_api.ts";
import { readRequestFacts } from "../../llm/request_facts.ts";
import {
  readOutputLimit,
  UNLIMITED_OUTPUT_TOKENS,
} from "../../llm/usage/output_bound.ts";
import { estimateTokens } from "../../llm/usage/usage_tracker.ts";
import { noUse, type Use } from "../../ratelimit/budget.ts";
import { readLlmContent } from "../expressions/llm_content.ts";
import type { PolicyContext } from "../policy.ts";
import type { PolicyServices } from "../policy_services.ts";

/** Output that budgets hold for a request that sets no limit; what it uses beyond that is charged as well. */
const USUAL_OUTPUT_TOKENS = 4096;

/**
 * Estimates the most that a request to an LLM may use: its body, and the output that it allows. A request that is not for an LLM
 * uses nothing.
 */
export async function readExpectedUse(
  { request }: Pick<PolicyContext, "request">,
  { prices, maxBufferBytes }: Pick<PolicyServices, "prices" | "maxBufferBytes">,
): Promise<Use> {
  const { method, target, upgrade } = request;
  const api = detectLlmApi(method, target);
  if (api === undefined || upgrade !== undefined) return noUse;
  if (!llmApiFacts(api).isEstimated) return noUse;
  const { bytes, size } = await readLlmContent(request, maxBufferBytes);
  const inputTokens = estimateTokens(size);
  const outputTokens = llmApiFacts(api).hasOutput ? await outputOf(bytes) : 0;
  const { model } = await readRequestFacts(bytes);
  if (!prices.isLoaded) await prices.load();
  const served = { model: readPathModel(target) ?? model, host: undefined };
  const { nanoUsd } = prices.price(served, { inputTokens, outputTokens });
  const tokens = inputTokens + outputTokens;
  return { tokens, inputTokens, outputTokens, usd: nanoUsd };
}

async function outputOf(bytes: Uint8Array | undefined): Promise<number> {
  if (bytes === undefined) return UNLIMITED_OUTPUT_TOKENS;
  return await readOutputLimit(bytes) ?? USUAL_OUTPUT_TOKENS;
}
