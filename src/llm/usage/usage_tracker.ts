import { readAnswerDocument } from "./answer_document.ts";
import { ContentMeter } from "./content_meter.ts";
import type { LlmApi } from "../llm_api.ts";
import { MAX_TOKEN_COUNT } from "./token_count.ts";
import { normalizeUsage, type TokenUsage } from "./token_usage.ts";
import { mergeUsageReports, type UsageReport } from "./usage_report.ts";

/** English text has about this many bytes per token. */
const BYTES_PER_TOKEN = 4;

/** What is known of the usage of one answer so far, whatever format it comes in. */
export class UsageTracker {
  /** The text that came after the last report. */
  readonly unreported = new ContentMeter();
  readonly #api: LlmApi | undefined;
  #report: UsageReport | undefined;
  #isStart = false;
  #model: string | undefined;

  constructor(api: LlmApi | undefined) {
    this.#api = api;
  }

  /** Takes note of a JSON answer or of one event; answers whether it reports usage. */
  observe(document: unknown): boolean {
    const { report, isStart, model } = readAnswerDocument(document, this.#api);
    this.#model = model ?? this.#model;
    if (report === undefined) return false;
    this.#report = mergeUsageReports(this.#report, report);
    this.#isStart = isStart;
    return true;
  }

  /** The usage of the whole answer, `undefined` when the provider said nothing. */
  finish(): TokenUsage | undefined {
    if (this.#report === undefined) return undefined;
    return this.#isStart
      ? this.estimate(0)
      : normalizeUsage(this.#report, this.#model);
  }

  /** The usage up to now, when the answer ends here: see `UsageScanner.estimate`. */
  estimate(requestBytes: number): TokenUsage {
    const stated = this.#report === undefined
      ? nothingStated(requestBytes, this.#model)
      : normalizeUsage(this.#report, this.#model);
    const isComplete = this.#report !== undefined && !this.#isStart &&
      this.unreported.bytes === 0;
    if (isComplete) return stated;
    const outputTokens = stated.outputTokens + this.#estimateOutput();
    return {
      ...stated,
      outputTokens,
      totalTokens: stated.inputTokens + outputTokens,
      estimated: true,
    };
  }

  #estimateOutput(): number {
    // These two answer with numbers, not with tokens.
    if (this.#api === "embeddings" || this.#api === "rerank") return 0;
    return estimateTokens(this.unreported.bytes);
  }
}

function nothingStated(
  requestBytes: number,
  responseModel: string | undefined,
): TokenUsage {
  const inputTokens = estimateTokens(requestBytes);
  return {
    inputTokens,
    outputTokens: 0,
    totalTokens: inputTokens,
    providerInputTokens: undefined,
    providerTotalTokens: undefined,
    cachedInputTokens: undefined,
    cacheCreationInputTokens: undefined,
    reasoningTokens: undefined,
    estimated: true,
    responseModel,
  };
}

function estimateTokens(bytes: number): number {
  return Math.min(Math.ceil(bytes / BYTES_PER_TOKEN), MAX_TOKEN_COUNT);
}
