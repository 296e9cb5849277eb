import type { LlmApi } from "../../llm/llm_api.ts";
import type { LlmUsage } from "../../telemetry/trace/trace_event.ts";
import type { TokenMeter } from "./token_meter.ts";

const providers: Readonly<Record<LlmApi, string>> = {
  chat: "openai",
  completions: "openai",
  responses: "openai",
  embeddings: "openai",
  messages: "anthropic",
  rerank: "cohere",
  gemini: "gemini",
  converse: "bedrock",
};

/** What a request used, as traces say it; `undefined` when no LLM answered. The provider is known by its interface. */
export function llmUsageOf(
  meter: TokenMeter | undefined,
): LlmUsage | undefined {
  const usage = meter?.usage;
  if (usage === undefined) return undefined;
  return {
    type: "llmUsage",
    provider: meter?.api === undefined ? "unknown" : providers[meter.api],
    model: usage.responseModel ?? null,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    debit: usage.totalTokens,
  };
}
