import { normalizeUsage, type TokenUsage } from "./token_usage.ts";
import { readUsageReport } from "./usage_report.ts";

const PREFIX = "x-amzn-bedrock-";

/**
 * The usage that an answer has in its headers: Bedrock's `InvokeModel` passes the body of each model on, in which many do not say it.
 * @param read The value of a header, whose name is in lower case.
 */
export function readUsageHeaders(
  read: (name: string) => string | undefined,
): TokenUsage | undefined {
  const inputTokens = read(`${PREFIX}input-token-count`);
  if (inputTokens === undefined) return undefined;
  const usage = {
    inputTokens,
    outputTokens: read(`${PREFIX}output-token-count`),
    cacheReadInputTokens: read(`${PREFIX}cache-read-input-token-count`),
    cacheWriteInputTokens: read(`${PREFIX}cache-write-input-token-count`),
  };
  const report = readUsageReport(usage, "converse");
  return report && normalizeUsage(report, undefined);
}
