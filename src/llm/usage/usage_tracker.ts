import { isAnswer } from "../answer_shape.ts";
import { readResponseUsage } from "./response_usage.ts";
import { OutputEstimate } from "./output_estimate.ts";
import { type LlmApi, llmApiFacts } from "../llm_api.ts";
import {
  billedUsage,
  hasInput,
  MAX_TOKEN_COUNT,
  mergeUsageReports,
  type UsageReport,
} from "./usage_report.ts";
import { normalizeUsage, type TokenUsage } from "./token_usage.ts";

/** Facts about a response beside its content. */
export interface EstimateLimits {
  readonly minOutputTokens?: number;
  /** Share of the response that was seen, above 0. */
  readonly share?: number;
}

/** Accumulates the usage of one response in any format. */
export class UsageTracker {
  /** Estimates the output after the last report. */
  readonly output = new OutputEstimate();
  readonly api: LlmApi | undefined;
  /** Images of a response of OpenAI's API for images, which older models bill. */
  images = 0;
  #report: UsageReport | undefined;
  #isStart = false;
  #model: string | undefined;
  #backgroundId: string | undefined;
  /** The content has the form of an LLM's answer; not looked for where the path tells the API. */
  isAnswer = false;

  constructor(api: LlmApi | undefined) {
    this.api = api;
  }

  /** Identifier of a response that runs in the background. */
  get backgroundId(): string | undefined {
    return this.#backgroundId;
  }

  /** Records a JSON response or an event; returns whether it reports usage. */
  observe(document: unknown): boolean {
    const { report, isStart, model, backgroundId } = readResponseUsage(
      document,
      this.api,
    );
    this.#model = model ?? this.#model;
    this.isAnswer ||= this.api === undefined && isAnswer(document);
    this.#backgroundId = backgroundId ?? this.#backgroundId;
    if (report === undefined) return false;
    this.#report = mergeUsageReports(this.#report, report);
    this.#isStart = isStart;
    return true;
  }

  /** Returns the usage of the complete response; `undefined` when the provider reported none. */
  finish(): TokenUsage | undefined {
    this.#report ??= this.api === "images" && this.images > 0
      ? billedUsage("image", this.images)
      : undefined;
    if (this.#report === undefined || !hasInput(this.#report)) return undefined;
    return this.#isStart
      ? this.estimate(0)
      : normalizeUsage(this.#report, this.#model);
  }

  /** Returns the usage of a response that ends here; see `UsageScanner.estimate`. */
  estimate(
    input: number,
    { minOutputTokens = 0, share = 1 }: EstimateLimits = {},
  ): TokenUsage {
    const report = this.#report && withInput(this.#report, input);
    const reported = report === undefined
      ? {
        ...normalizeUsage({ dialect: "plain" }, this.#model),
        inputTokens: input,
      }
      : normalizeUsage(report, this.#model);
    const isComplete = report !== undefined && !this.#isStart &&
      this.output.tokens === 0;
    if (isComplete) return { ...reported, estimated: report !== this.#report };
    // Some APIs respond with numbers, not with tokens.
    const hasOutput = this.api === undefined || llmApiFacts(this.api).hasOutput;
    const output = reported.outputTokens + (hasOutput ? this.output.tokens : 0);
    const outputTokens = Math.min(
      Math.max(minOutputTokens, Math.ceil(output / share)),
      MAX_TOKEN_COUNT,
    );
    const inputTokens = Math.min(
      reported.inputTokens + this.output.addedTo(reported.inputTokens),
      MAX_TOKEN_COUNT,
    );
    return {
      ...reported,
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      estimated: true,
    };
  }
}

/** Returns the report with an estimate of the input if it has none. */
function withInput(report: UsageReport, input: number): UsageReport {
  return hasInput(report) ? report : { ...report, input };
}
