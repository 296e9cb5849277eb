import type { Cost } from "../cost/price_book.ts";
import type { PricedTokens } from "../cost/token_prices.ts";
import { readUsageReport, type UsageReport } from "./usage_report.ts";

type Count = number | undefined;

/** Tokens that a request used, normalized across LLM providers, and what they cost, which is 0 until the usage is priced; values that were not reported are `undefined`. */
export interface TokenUsage extends Cost {
  /** Includes tokens read from and written to the provider's prompt cache. */
  readonly inputTokens: number;
  /** Includes reasoning. */
  readonly outputTokens: number;
  /** Input and output tokens, which are charged to budgets. */
  readonly totalTokens: number;
  /** Part of `inputTokens`. */
  readonly cachedInputTokens: Count;
  /** Part of `inputTokens`. */
  readonly cacheCreationInputTokens: Count;
  /** Part of the counts that is speech. */
  readonly audio?: PricedTokens["audio"];
  /** Part of the counts that are images. */
  readonly image?: PricedTokens["image"];
  /** Billed in place of tokens; those are derived from it. */
  readonly billed?: PricedTokens["billed"];
  /** The provider ran the request as part of a batch, for which it charges less. */
  readonly isBatch?: boolean;
  /** Some values are estimated, because the provider had not reported them yet. */
  readonly estimated: boolean;
  /** Model that the response names, or else the path of the request. */
  readonly responseModel: string | undefined;
  /** Host of the provider by which the price is known. */
  readonly host: string | undefined;
}

/** Counts the tokens of a response while it is read. */
export interface ResponseCounts {
  /** Set once the response was read. */
  readonly usage: TokenUsage | undefined;
  /** Pending while a response that was read is decoded. */
  readonly counting: Promise<void> | undefined;
}

/** Normalizes the report of a provider; derives missing counts from the others, or uses zero. */
export function normalizeUsage(
  report: UsageReport,
  responseModel: string | undefined,
): TokenUsage {
  const inputTokens = normalizeInput(report);
  const outputTokens = normalizeOutput(report, inputTokens);
  const { audioInput = 0, audioCached = 0, audioOutput = 0 } = report;
  const audio = { input: audioInput, cached: audioCached, output: audioOutput };
  const { imageInput = 0, imageOutput = 0 } = report;
  const image = { input: imageInput, cached: 0, output: imageOutput };
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cachedInputTokens: report.cached,
    cacheCreationInputTokens: report.cacheCreation,
    ...(audio.input + audio.output > 0 && { audio }),
    ...(image.input + image.output > 0 && { image }),
    ...(report.billed !== undefined && { billed: report.billed }),
    estimated: false,
    responseModel,
    host: undefined,
    nanoUsd: 0,
    isPriced: false,
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

/**
 * Returns the output, including what only the total includes: xAI and Gemini's chat API leave reasoning out of the output, others leave
 * out audio, connectors and tools.
 */
function normalizeOutput(report: UsageReport, inputTokens: number): number {
  const { output = 0, total = 0 } = report;
  return Math.max(output, total - inputTokens);
}

/** Adds what a response used to what earlier ones did, if any; the model is that of the later one. */
export function addUsage(
  earlier: TokenUsage | undefined,
  later: TokenUsage,
): TokenUsage {
  if (earlier === undefined) return later;
  const sum = (read: (usage: TokenUsage) => Count) => {
    const [one, other] = [read(earlier), read(later)];
    return one === undefined ? other : one + (other ?? 0);
  };
  return {
    inputTokens: earlier.inputTokens + later.inputTokens,
    outputTokens: earlier.outputTokens + later.outputTokens,
    totalTokens: earlier.totalTokens + later.totalTokens,
    cachedInputTokens: sum((usage) => usage.cachedInputTokens),
    cacheCreationInputTokens: sum((usage) => usage.cacheCreationInputTokens),
    estimated: earlier.estimated || later.estimated,
    responseModel: later.responseModel ?? earlier.responseModel,
    host: later.host,
    nanoUsd: earlier.nanoUsd + later.nanoUsd,
    isPriced: earlier.isPriced && later.isPriced,
  };
}

const BEDROCK_PREFIX = "x-amzn-bedrock-";

/**
 * Reads the usage in response headers of Bedrock's `InvokeModel`: many models do not report it in the body.
 * @param read Returns the value of a header by its lower-case name.
 */
export function readUsageHeaders(
  read: (name: string) => string | undefined,
): TokenUsage | undefined {
  const inputTokens = read(`${BEDROCK_PREFIX}input-token-count`);
  if (inputTokens === undefined) return undefined;
  const usage = {
    inputTokens,
    outputTokens: read(`${BEDROCK_PREFIX}output-token-count`),
    cacheReadInputTokens: read(`${BEDROCK_PREFIX}cache-read-input-token-count`),
    cacheWriteInputTokens: read(
      `${BEDROCK_PREFIX}cache-write-input-token-count`,
    ),
  };
  const report = readUsageReport(usage, "converse");
  return report && normalizeUsage(report, undefined);
}
