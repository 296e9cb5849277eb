import type { Cancellation } from "../../../base/cancellation.ts";
import type { RequestMessage, ResponseMessage } from "../../../http/message.ts";
import {
  type ContentDecoder,
  createDecoder,
  responseLimits,
} from "../../../llm/format/content_decoder.ts";
import {
  detectLlmApi,
  type LlmApi,
  llmApiFacts,
  readPathModel,
} from "../../../llm/llm_api.ts";
import { outputKey } from "../../../llm/batch/stored_output.ts";
import { FormModel } from "../../../llm/request/form_model.ts";
import { MediaRequest } from "../../../llm/request/media_request.ts";
import type { RequestContent } from "../../../llm/request/request_content.ts";
import { readRequestFacts } from "../../../llm/request/request_facts.ts";
import { isTokenStream, timedOutput } from "../../../llm/usage/first_output.ts";
import {
  addUsage,
  normalizeUsage,
  readUsageHeaders,
  type TokenUsage,
} from "../../../llm/usage/token_usage.ts";
import { UsageChunkFilter } from "../../../llm/usage/usage_chunk_filter.ts";
import {
  createUsageScanner,
  type UsageScanner,
} from "../../../llm/usage/usage_scanner.ts";
import { billedUsage } from "../../../llm/usage/usage_report.ts";
import { UsageTracker } from "../../../llm/usage/usage_tracker.ts";
import {
  readLlmContent,
  readPossibleContent,
} from "../../../policy/expressions/llm_content.ts";
import type {
  UsageListener,
  UsageListeners,
  UsageRules,
} from "../../../policy/contract/request_listeners.ts";
import { MeteredBody, outlive } from "../../body/metered_body.ts";
import {
  type MeteredRequest,
  type MeterOptions,
  priceUsage,
  RequestCounts,
  UnknownUsage,
  type UsageMeter,
} from "./usage_meter.ts";
import {
  asRequested,
  type RequestedUsage,
  requestUsage,
} from "./usage_request.ts";

const noBudgets: Pick<UsageListeners, "listeners" | "rules"> = {
  listeners: [],
  rules: { mayRequestUsage: true, drains: false, deniesUnknown: false },
};

/** APIs whose responses do not name the model. */
const mediaApis: ReadonlySet<LlmApi | undefined> = new Set<LlmApi>([
  "transcriptions",
  "images",
  "speech",
  "ocr",
]);

/** Meters requests to known LLM APIs, and under a budget all requests that may be for an LLM. */
export function meterOfTokens(
  { originalRequest, request: { method, target }, discarded }: MeteredRequest,
  options: MeterOptions,
  budgets: UsageListeners | undefined,
): UsageMeter | undefined {
  if (originalRequest.method !== "POST") return undefined;
  // Policies may have rewritten the path to the one that the provider knows.
  const api = detectLlmApi("POST", originalRequest.target) ??
    detectLlmApi(method, target) ?? budgets?.api;
  return budgets === undefined && api === undefined
    ? undefined
    : new TokenMeter(api, options, budgets, discarded);
}

/** Counts the tokens of one request: reads the response while it streams, and asks the provider for usage that it reports only on request. */
export class TokenMeter implements UsageMeter {
  readonly countsParts = false;
  readonly counts = new RequestCounts();
  readonly #options: MeterOptions;
  readonly #listeners: readonly UsageListener[];
  readonly #rules: UsageRules;
  readonly #discarded: MeteredRequest["discarded"];
  api: LlmApi | undefined;
  cancellation: Cancellation | undefined;
  /** As the provider gets it. */
  #target = "";
  /** Estimated tokens of the request. */
  #input: number | undefined;
  /** Model in the body of the request. */
  #requestModel: string | undefined;
  /** Set for requests about media, whose bodies are read while they pass. */
  #media: FormModel | MediaRequest | undefined;
  #requested: RequestedUsage = asRequested;
  #isOver = false;
  /** Usage in the head of the response. */
  #stated: TokenUsage | undefined;
  #decoding: Promise<void> | undefined;

  constructor(
    api: LlmApi | undefined,
    options: MeterOptions,
    { listeners, rules } = noBudgets,
    discarded: MeteredRequest["discarded"] = undefined,
  ) {
    this.#discarded = discarded;
    this.api = api;
    this.#options = options;
    this.#listeners = listeners;
    this.#rules = rules;
  }

  /** Requests usage where a provider reports it only then. */
  prepare(
    request: RequestMessage,
    maxBytes: number,
  ): Promise<void> | undefined {
    // The path may have been rewritten to the one that the provider knows.
    this.#target = request.target;
    this.api ??= detectLlmApi(request.method, request.target);
    this.#watchMedia(request);
    const { prices } = this.#options;
    if (this.#listeners.length > 0) {
      return this.#prepareRequest(request, maxBytes);
    }
    return prices.isLoaded ? undefined : prices.load();
  }

  async #prepareRequest(
    request: RequestMessage,
    maxBytes: number,
  ): Promise<void> {
    const { prices } = this.#options;
    if (!prices.isLoaded) await prices.load();
    if (this.api === undefined) {
      this.#denyUnknown("the path is not that of a known LLM API");
    }
    const content = await this.#readContent(request, maxBytes);
    const facts = await readRequestFacts(content?.bytes);
    this.#input = content?.input;
    this.#requestModel = facts.model;
    if (this.#isEstimated && facts.isBackground) {
      this.#denyUnknown('it has "background", so the response comes later');
    }
    if (this.#rules.drains) {
      this.cancellation = outlive(request.cancellation, this.#options.clock);
    }
    if (content === undefined || this.api === undefined) return;
    if (!llmApiFacts(this.api).needsIncludeUsage) return;
    if (this.#rules.mayRequestUsage) {
      const { host } = this.#options;
      this.#requested = await requestUsage(request, content.bytes, facts, host);
    } else if (facts.isStreamed && !facts.includesUsage) {
      this.#denyUnknown("it is streamed, and includeUsage is false");
    }
    if (this.#requested.outputBound > 0) {
      this.#denyUnknown(
        "it is a streamed chat, and its body is signed or cannot be read",
      );
    }
  }

  /** Reads what an estimate may need; `undefined` where none is made. */
  #readContent(
    request: RequestMessage,
    maxBytes: number,
  ): Promise<RequestContent | undefined> {
    if (this.#isEstimated) return readLlmContent(request, maxBytes);
    return this.api === undefined
      ? readPossibleContent(request, maxBytes)
      : Promise.resolve(undefined);
  }

  /** Finds the model, and the text to speak, of a form or JSON while its body passes. */
  #watchMedia(request: RequestMessage): void {
    const { body, headers } = request;
    if (!mediaApis.has(this.api) || body === undefined) return;
    const sink = FormModel.create(headers.getJoined("content-type")) ??
      new MediaRequest();
    this.#media = sink;
    request.body = new MeteredBody(body, { sink, end: () => {} });
  }

  /** Returns the usage of a response that is sound, by the text of its request. */
  #spokenUsage(): TokenUsage | undefined {
    const media = this.#media;
    if (this.api !== "speech" || !(media instanceof MediaRequest)) {
      return undefined;
    }
    const report = billedUsage("character", media.characters);
    return report && { ...normalizeUsage(report, undefined), estimated: true };
  }

  /** Returns whether an estimate may be charged; without a known API, the response decides. */
  get #isEstimated(): boolean {
    return this.api !== undefined && llmApiFacts(this.api).isEstimated;
  }

  #denyUnknown(reason: string): void {
    if (this.#rules.deniesUnknown) throw new UnknownUsage(reason);
  }

  watch(response: ResponseMessage): void {
    const { body, headers, status } = response;
    if (body === undefined || status >= 300) return void (this.#isOver = true);
    this.#stated = readUsageHeaders((name) => headers.getJoined(name));
    const contentType = headers.getJoined("content-type");
    const coding = headers.getJoined("content-encoding") ?? "identity";
    const sink = (bytes: Uint8Array) => scanner?.push(bytes);
    const known = createDecoder(coding, sink, responseLimits);
    // A response in an unknown format or coding must not be free where usage is charged.
    const readsAnything = this.#listeners.length > 0 &&
      (this.#isEstimated || this.api === undefined);
    const decoder = known ??
      (readsAnything ? createDecoder("identity", sink) : undefined);
    const scanner = createUsageScanner({
      api: this.api,
      contentType: known === undefined ? undefined : contentType,
      readsAnything,
    });
    if (scanner === undefined || decoder === undefined) {
      return this.#settle(this.#spokenUsage());
    }
    const isHidden = this.#requested.isHidden && coding === "identity" &&
      /^text\/event-stream/i.test(contentType ?? "");
    const drain = this.cancellation === undefined ? undefined : {
      clock: this.#options.clock,
      isNeeded: () => this.api !== undefined || scanner.mayHaveUsage,
      started: (draining: Promise<void>) => {
        this.counts.counting = draining.then(() => this.#decoding);
      },
    };
    response.body = new MeteredBody(body, {
      sink: isTokenStream(contentType)
        ? timedOutput(decoder, coding, this.counts, this.#options.clock)
        : decoder,
      filter: isHidden ? new UsageChunkFilter() : undefined,
      end: (isComplete) => this.#end(scanner, decoder, coding, isComplete),
      drain,
    });
  }

  abandon(): void {
    const isLlm = this.#isEstimated || this.#model(undefined) !== undefined;
    if (!this.#isOver && isLlm) this.#settle(this.#estimateInput());
  }

  /** Estimates a request to whose response nothing is known. */
  #estimateInput(): TokenUsage | undefined {
    return this.#input === undefined
      ? undefined
      : new UsageTracker(this.api).estimate(this.#input);
  }

  #end(
    scanner: UsageScanner,
    decoder: ContentDecoder,
    coding: string,
    isComplete: boolean,
  ): void {
    const settle = (isRead: boolean) => {
      const usage = this.#read(scanner, isRead, decoder.share);
      const { backgroundId } = scanner;
      if (backgroundId === undefined) return this.#settle(usage);
      return this.#settleBackground(usage, backgroundId);
    };
    const settling = coding === "identity"
      ? settle(isComplete)
      : decoder.finish().then((isDecoded) => settle(isComplete && isDecoded));
    if (settling === undefined) return;
    this.#decoding = settling.then(() => {
      this.#decoding = this.counts.counting = undefined;
    });
    this.counts.counting ??= this.#decoding;
  }

  #read(
    scanner: UsageScanner,
    isComplete: boolean,
    share: number,
  ): TokenUsage | undefined {
    const stated = (isComplete ? scanner.finish() : undefined) ??
      this.#stated;
    if (stated !== undefined) return stated;
    // It has just begun: whoever reads it to the end is charged.
    if (isComplete && scanner.backgroundId !== undefined) return undefined;
    const usage = scanner.estimate(this.#input ?? 0, {
      minOutputTokens: this.#requested.outputBound,
      share,
    });
    // A provider that reports no usage, or was cut short, must not be free; anything but an LLM must be.
    const isLlm = this.#isEstimated || !usage.estimated || scanner.isAnswer ||
      (!isComplete && usage.responseModel !== undefined);
    if (isLlm) return usage;
    // Left before there was anything by which an answer is recognized.
    const mayBeLlm = !isComplete && this.api === undefined &&
      this.#model(undefined) !== undefined;
    return mayBeLlm ? this.#estimateInput() : undefined;
  }

  /** Charges a response that runs in the background, unless a reader was faster. */
  async #settleBackground(
    usage: TokenUsage | undefined,
    id: string,
  ): Promise<void> {
    const key = outputKey(this.#options, { kind: "response", id });
    const isFirst = usage !== undefined &&
      await this.#options.counted.claim(key, 1) === 0;
    if (isFirst) this.#settle(usage);
    else this.#isOver = true;
  }

  #settle(usage: TokenUsage | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (usage === undefined) return this.#cannotCount();
    const responseModel = this.#model(usage.responseModel);
    const used = priceUsage(this.#options, { ...usage, responseModel });
    this.counts.usage = used;
    this.#charge(addUsage(this.#discarded?.usage, used));
  }

  #charge(used: TokenUsage | undefined): void {
    if (used === undefined) return;
    for (const listener of this.#listeners) listener.settle(used);
  }

  #cannotCount(): void {
    if (this.#listeners.length === 0) return;
    this.counts.uncounted = { model: this.#model(undefined) };
    this.#charge(this.#discarded?.usage);
  }

  /** Returns the model that the response names, else that of the request: in the path, or in the body. */
  #model(responseModel: string | undefined): string | undefined {
    return responseModel ?? readPathModel(this.#target) ??
      this.#options.modelAt(this.#media?.model ?? this.#requestModel);
  }
}
