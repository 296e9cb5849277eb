import { BytesBody } from "../../http/body.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import {
  type ContentDecoder,
  createDecoder,
  responseLimits,
} from "../../llm/format/content_decoder.ts";
import type { PriceBook } from "../../llm/cost/price_book.ts";
import { withIncludeUsage } from "../../llm/usage/include_usage.ts";
import {
  detectLlmApi,
  type LlmApi,
  llmApiFacts,
  readPathModel,
} from "../../llm/llm_api.ts";
import { readRequestContent } from "../../llm/request_content.ts";
import { textSizeOf } from "../../llm/request_size.ts";
import {
  readOutputBound,
  UNLIMITED_OUTPUT_TOKENS,
} from "../../llm/usage/output_bound.ts";
import {
  readUsageHeaders,
  type TokenUsage,
} from "../../llm/usage/token_usage.ts";
import { UsageChunkFilter } from "../../llm/usage/usage_chunk_filter.ts";
import {
  createUsageScanner,
  type UsageScanner,
} from "../../llm/usage/usage_scanner.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";
import type {
  MeteredUsage,
  UsageListener,
  UsageListeners,
} from "../../policy/usage_listeners.ts";
import { assertReadableContent } from "../../policy/expressions/readable_content.ts";
import { MeteredBody } from "./metered_body.ts";

const noListeners = { listeners: [], mayRequestUsage: true };

/** Dependencies of a meter. */
export interface TokenMeterOptions {
  readonly prices: PriceBook;
  /** Host of the backend: prices depend on the provider. */
  readonly host: string | undefined;
}

/** Counts the tokens of one request: reads the response while it streams, and asks the provider for usage that it reports only on request. */
export class TokenMeter {
  #api: LlmApi | undefined;
  /** As the provider gets it. */
  #target = "";
  readonly #listeners: readonly UsageListener[];
  readonly #mayRequestUsage: boolean;
  #requestBytes = 0;
  /** Output to charge if a stream reports no usage, because the provider could not be asked for it. */
  #outputBound = 0;
  #hidesUsage = false;
  #isOver = false;
  /** Usage in the head of the response. */
  #stated: TokenUsage | undefined;
  #usage: MeteredUsage | undefined;
  readonly #options: TokenMeterOptions;
  #decoding: Promise<void> | undefined;

  constructor(
    api: LlmApi | undefined,
    options: TokenMeterOptions,
    { listeners, mayRequestUsage }: Pick<
      UsageListeners,
      "listeners" | "mayRequestUsage"
    > = noListeners,
  ) {
    this.#api = api;
    this.#options = options;
    this.#listeners = listeners;
    this.#mayRequestUsage = mayRequestUsage;
  }

  /** API of the provider, by the path; `undefined` when the shape of the response decides. */
  get api(): LlmApi | undefined {
    return this.#api;
  }

  /** Returns the usage of the request once it is over. */
  get usage(): MeteredUsage | undefined {
    return this.#usage;
  }

  /** Pending while a compressed response that the client already has is still being read. */
  get decoding(): Promise<void> | undefined {
    return this.#decoding;
  }

  /**
   * Prepares a request whose usage is needed: a streamed OpenAI chat reports usage only on request.
   * @param maxBytes Longer bodies are not changed, and count as this many bytes in an estimate.
   */
  async prepare(request: RequestMessage, maxBytes: number): Promise<void> {
    // The path may have been rewritten to the one that the provider knows.
    this.#target = request.target;
    this.#api ??= detectLlmApi(request.method, request.target);
    const { prices } = this.#options;
    if (!prices.isLoaded) await prices.load();
    // Without a known API, an estimate is never charged.
    if (this.#listeners.length === 0 || this.api === undefined) return;
    const { headers } = request;
    const coding = headers.getJoined("content-encoding") ?? "identity";
    if (coding === "identity") assertReadableContent(headers);
    const body = await peekBody(request, maxBytes);
    const content = body === undefined
      ? { bytes: undefined, size: maxBytes }
      : coding === "identity"
      ? { bytes: body, size: textSizeOf(body) }
      : await readRequestContent(body, coding, maxBytes);
    this.#requestBytes = content.size;
    if (!this.#mayRequestUsage) return;
    if (!llmApiFacts(this.api).needsIncludeUsage) return;
    await this.#requestUsage(request, content.bytes);
  }

  async #requestUsage(
    request: RequestMessage,
    content: Uint8Array | undefined,
  ): Promise<void> {
    const { headers } = request;
    if (content === undefined) {
      this.#outputBound = UNLIMITED_OUTPUT_TOKENS;
      return;
    }
    if (coversBody(headers)) {
      this.#outputBound = await readOutputBound(content);
      return;
    }
    const asking = await withIncludeUsage(content);
    if (asking === undefined) return;
    request.body = new BytesBody(asking);
    for (const name of bodyFields) headers.delete(name);
    // Usage in a compressed response could not be hidden from the client.
    headers.set("accept-encoding", "identity");
    this.#hidesUsage = true;
  }

  /** Counts the tokens of `response` while it is read. */
  watch(response: ResponseMessage): void {
    const { body, headers, status } = response;
    if (body === undefined || status >= 300) return void (this.#isOver = true);
    this.#stated = readUsageHeaders((name) => headers.getJoined(name));
    const contentType = headers.getJoined("content-type");
    const coding = headers.getJoined("content-encoding") ?? "identity";
    const sink = (bytes: Uint8Array) => scanner?.push(bytes);
    const known = createDecoder(coding, sink, responseLimits);
    // A response in an unknown format or coding must not be free where usage is charged.
    const readsAnything = this.#listeners.length > 0 && this.api !== undefined;
    const decoder = known ??
      (readsAnything ? createDecoder("identity", sink) : undefined);
    const scanner = createUsageScanner({
      api: this.api,
      contentType: known === undefined ? undefined : contentType,
      readsAnything,
    });
    if (scanner === undefined || decoder === undefined) {
      this.#isOver = true;
      return;
    }
    const end = (isComplete: boolean) =>
      this.#end(scanner, decoder, coding, isComplete);
    const filter = this.#createFilter(contentType, coding);
    response.body = new MeteredBody(body, { sink: decoder, filter, end });
  }

  /** Charges what a client sent that left before the response: the provider received it. */
  abandon(): void {
    if (this.#isOver || this.#requestBytes === 0) return;
    const options = { api: this.api, contentType: "application/json" };
    const scanner = createUsageScanner(options);
    if (scanner !== undefined) {
      this.#settle(scanner.estimate(this.#requestBytes));
    }
  }

  #createFilter(
    contentType: string | undefined,
    coding: string,
  ): UsageChunkFilter | undefined {
    const isHidden = this.#hidesUsage && coding === "identity" &&
      /^text\/event-stream/i.test(contentType ?? "");
    return isHidden ? new UsageChunkFilter() : undefined;
  }

  #end(
    scanner: UsageScanner,
    decoder: ContentDecoder,
    coding: string,
    isComplete: boolean,
  ): void {
    const settle = (isRead: boolean) =>
      this.#settle(this.#read(scanner, isRead, decoder.share));
    if (coding === "identity") return settle(isComplete);
    this.#decoding = decoder.finish().then((isDecoded) => {
      this.#decoding = undefined;
      settle(isComplete && isDecoded);
    });
  }

  #read(
    scanner: UsageScanner,
    isComplete: boolean,
    share: number,
  ): TokenUsage | undefined {
    const stated = (isComplete ? scanner.finish() : undefined) ??
      this.#stated;
    if (stated !== undefined) return stated;
    const usage = scanner.estimate(this.#requestBytes, {
      minOutputTokens: this.#outputBound,
      share,
    });
    // A provider that reports no usage, or was cut short, must not be free; anything but an LLM must be.
    const isLlm = this.api !== undefined || !usage.estimated ||
      (!isComplete && usage.responseModel !== undefined);
    return isLlm ? usage : undefined;
  }

  #settle(usage: TokenUsage | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (usage === undefined) return;
    const model = usage.responseModel ?? readPathModel(this.#target);
    const { prices, host } = this.#options;
    const served = { model, host };
    const cost = prices.price(served, usage);
    this.#usage = { ...usage, responseModel: model, cost, served };
    for (const listener of this.#listeners) listener(this.#usage);
  }
}

/** Returns whether a signature covers the body: of AWS, or of HTTP messages (RFC 9421) with a digest among its components. */
function coversBody(headers: HeaderList): boolean {
  return headers.getJoined("authorization")?.startsWith("AWS4-") === true ||
    ["signature", "signature-input"].some((name) =>
      headers.getJoined(name)?.toLowerCase().includes("digest")
    );
}

/** Fields about the bytes of the body, which no longer hold for a changed one. */
const bodyFields = [
  "content-encoding",
  "content-digest",
  "content-md5",
  "digest",
  "repr-digest",
];
