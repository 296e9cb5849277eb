import type { UsageReport } from "./usage_report.ts";

type Count = number | undefined;

/** The tokens of one answer, in the same terms for every LLM provider; what was not said is `undefined`. */
export interface TokenUsage {
  /** With what was read from and written to the provider's prompt cache. */
  readonly inputTokens: number;
  /** With reasoning. */
  readonly outputTokens: number;
  /** Input and output: what a budget is debited. */
  readonly totalTokens: number;
  /** Input as the provider counts it: Anthropic and Bedrock leave the cache out. */
  readonly providerInputTokens: Count;
  readonly providerTotalTokens: Count;
  /** Part of `inputTokens`. */
  readonly cachedInputTokens: Count;
  /** Part of `inputTokens`. */
  readonly cacheCreationInputTokens: Count;
  /** Part of `outputTokens`. */
  readonly reasoningTokens: Count;
  /** Whether some of it is our guess, because the provider had not said it yet. */
  readonly estimated: boolean;
  /** The model that answered, as the answer names it. */
  readonly responseModel: string | undefined;
}

/** Puts what a provider said in the terms of `TokenUsage`; a count that is missing follows from the others or is zero. */
export function normalizeUsage(
  report: UsageReport,
  responseModel: string | undefined,
): TokenUsage {
  const inputTokens = normalizeInput(report);
  const outputTokens = normalizeOutput(report, inputTokens);
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    providerInputTokens: report.input,
    providerTotalTokens: report.total,
    cachedInputTokens: report.cached,
    cacheCreationInputTokens: report.cacheCreation,
    reasoningTokens: report.reasoning,
    estimated: false,
    responseModel,
  };
}

function normalizeInput(report: UsageReport): number {
  const { input, output = 0, total } = report;
  const cache = (report.cached ?? 0) + (report.cacheCreation ?? 0);
  if (input === undefined) {
    return total === undefined ? cache : Math.max(0, total - output);
  }
  return report.cacheIsOutside ? input + cache : input;
}

function normalizeOutput(report: UsageReport, inputTokens: number): number {
  const { output, reasoning = 0, total } = report;
  if (output === undefined) return Math.max(0, (total ?? 0) - inputTokens);
  // xAI and Gemini's chat interface leave reasoning out of the output, but not out of the total.
  const isReasoningOutside = total === inputTokens + output + reasoning;
  return isReasoningOutside ? output + reasoning : output;
}
