import { isAnswer } from "../answer_shape.ts";
import { readResponseUsage } from "./response_usage.ts";
import { ContentMeter } from "./content_meter.ts";
import { type LlmApi, llmApiFacts } from "../llm_api.ts";
import {
  MAX_TOKEN_COUNT,
  mergeUsageReports,
  type UsageReport,
} from "./usage_report.ts";
import { normalizeUsage, type TokenUsage } from "./token_usage.ts";

/** Estimates the input, for the model that the response names. */
export type InputTokens = (model: string | undefined) => number;

function noInput(): number {
  return 0;
}

/** Facts about a response beside its content. */
export interface EstimateLimits {
  readonly minOutputTokens?: number;
  /** Share of the response that was seen, above 0. */
  readonly share?: number;
}

/** Accumulates the usage of one response in any format. */
export class UsageTracker {
  /** Generated text after the last report. */
  readonly unreported: ContentMeter;
  readonly api: LlmApi | undefined;
  #report: UsageReport | undefined;
  #isStart = false;
  #model: string | undefined;
  #backgroundId: string | undefined;
  /** The content has the form of an LLM's answer; not looked for where the path tells the API. */
  isAnswer = false;

  constructor(api: LlmApi | undefined) {
    this.api = api;
    this.unreported = new ContentMeter(api);
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
    if (this.#report === undefined || !hasInput(this.#report)) return undefined;
    return this.#isStart
      ? this.estimate(noInput)
      : normalizeUsage(this.#report, this.#model);
  }

  /** Returns the usage of a response that ends here; see `UsageScanner.estimate`. */
  estimate(
    input: InputTokens,
    { minOutputTokens = 0, share = 1 }: EstimateLimits = {},
  ): TokenUsage {
    const report = this.#report &&
      withInput(this.#report, () => input(this.#model));
    const reported = report === undefined
      ? estimateRequest(input(this.#model), this.#model)
      : normalizeUsage(report, this.#model);
    const isComplete = report !== undefined && !this.#isStart &&
      this.unreported.tokens === 0;
    if (isComplete) return { ...reported, estimated: report !== this.#report };
    const outputTokens = Math.max(
      minOutputTokens,
      Math.ceil((reported.outputTokens + this.#estimateOutput()) / share),
    );
    const inputTokens = reported.inputTokens +
      this.#addedInput(reported.inputTokens);
    return {
      ...reported,
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      estimated: true,
    };
  }

  #addedInput(input: number): number {
    const added = this.unreported.tools.addedTo(input);
    return Math.min(Math.ceil(added), MAX_TOKEN_COUNT);
  }

  #estimateOutput(): number {
    // These two respond with numbers, not with tokens.
    if (this.api !== undefined && !llmApiFacts(this.api).hasOutput) return 0;
    return Math.min(this.unreported.tokens, MAX_TOKEN_COUNT);
  }
}

/** TGI reports the output only. */
function hasInput({ dialect, input }: UsageReport): boolean {
  return dialect !== "plain" || input !== undefined;
}

/** Returns the report with an estimate of the input if it has none. */
function withInput(report: UsageReport, input: () => number): UsageReport {
  return hasInput(report) ? report : { ...report, input: input() };
}

function estimateRequest(
  inputTokens: number,
  responseModel: string | undefined,
): TokenUsage {
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
