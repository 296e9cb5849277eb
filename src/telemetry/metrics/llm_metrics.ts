import type { FinishedRequest } from "../log/finished_request.ts";
import type { MetricRegistry } from "./metrics.ts";

/** The metrics of tokens, all at zero; what it answers counts one request in them. */
export function addLlmMetrics(
  registry: MetricRegistry,
): (request: FinishedRequest) => void {
  const served = ["route", "backend"];
  const tokens = registry.counter(
    "gateway_llm_tokens_total",
    "Tokens that LLM answers used; input includes what came from the prompt cache",
    [...served, "model", "type"],
  );
  const answers = registry.counter(
    "gateway_llm_answers_total",
    "LLM answers by who counted their tokens: the provider, or we by an estimate",
    [...served, "usage_source"],
  );
  return ({ route = "", backend = "", usage }) => {
    if (usage === undefined) return;
    const { responseModel = "", cachedInputTokens = 0 } = usage;
    const count = (type: string, amount: number) =>
      tokens.labels(route, backend, responseModel, type).inc(amount);
    count("input", usage.inputTokens);
    count("output", usage.outputTokens);
    if (cachedInputTokens > 0) count("cached_input", cachedInputTokens);
    const source = usage.estimated ? "estimated" : "reported";
    answers.labels(route, backend, source).inc();
  };
}
