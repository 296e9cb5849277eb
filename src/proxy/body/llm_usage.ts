import { llmApiFacts } from "../../llm/llm_api.ts";
import type { LlmUsage } from "../../telemetry/trace/trace_event.ts";
import type { TokenMeter } from "./token_meter.ts";

/** Returns the usage of a request for its trace; `undefined` when no LLM responded. The API tells the provider. */
export function llmUsageOf(
  meter: TokenMeter | undefined,
): LlmUsage | undefined {
  const usage = meter?.usage;
  if (usage === undefined) return undefined;
  return {
    type: "llmUsage",
    provider: meter?.api === undefined
      ? "unknown"
      : llmApiFacts(meter.api).provider,
    model: usage.responseModel ?? null,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    debit: usage.totalTokens,
  };
}
