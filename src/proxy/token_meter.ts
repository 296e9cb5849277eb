import { BytesBody } from "../http/body.ts";
import type { RequestMessage, ResponseMessage } from "../http/message.ts";
import { type ContentDecoder, createDecoder } from "../llm/content_decoder.ts";
import { withIncludeUsage } from "../llm/llm_request.ts";
import type { LlmApi } from "../llm/llm_api.ts";
import type { TokenUsage } from "../llm/token_usage.ts";
import {
  createUsageChunkFilter,
  type UsageChunkFilter,
} from "../llm/usage_chunk_filter.ts";
import { createUsageScanner, type UsageScanner } from "../llm/usage_scanner.ts";
import type { LlmCall } from "../policy/llm_call.ts";
import { peekBody } from "../policy/peeked_body.ts";
import { MeteredBody } from "./metered_body.ts";

/** Counts the tokens of one request: reads the answer while it streams by, and asks the provider to say them where it would not. */
export class TokenMeter implements LlmCall {
  readonly api: LlmApi | undefined;
  readonly #listeners: ((usage: TokenUsage) => void)[] = [];
  #requestBytes = 0;
  #hidesUsage = false;
  #isOver = false;
  #usage: TokenUsage | undefined;
  #decoding: Promise<void> | undefined;

  constructor(api: LlmApi | undefined) {
    this.api = api;
  }

  onUsage(listener: (usage: TokenUsage) => void): void {
    this.#listeners.push(listener);
  }

  /** What the request used, once it is over. */
  get usage(): TokenUsage | undefined {
    return this.#usage;
  }

  /** Pending while a compressed answer, which the client has already, is still being read. */
  get decoding(): Promise<void> | undefined {
    return this.#decoding;
  }

  /**
   * Sees to it that the answer will tell the usage, where somebody wants to know: a streamed OpenAI chat does only when asked.
   * @param maxBytes Longer bodies go on as they are.
   */
  async prepare(request: RequestMessage, maxBytes: number): Promise<void> {
    if (this.#listeners.length === 0) return;
    this.#requestBytes = request.body?.length ?? 0;
    const bytes = await peekBody(request, maxBytes);
    if (bytes === undefined) return;
    this.#requestBytes = bytes.length;
    if (this.api !== "chat" && this.api !== "completions") return;
    const asking = withIncludeUsage(bytes);
    if (asking === undefined) return;
    request.body = new BytesBody(asking);
    // What is compressed cannot be hidden from the client again.
    request.headers.delete("accept-encoding");
    this.#hidesUsage = true;
  }

  /** Reads along with whoever reads the body of `response`. */
  watch(response: ResponseMessage): void {
    const { body, headers, status } = response;
    if (body === undefined || status >= 300) return void (this.#isOver = true);
    const contentType = headers.getJoined("content-type");
    const scanner = createUsageScanner({ api: this.api, contentType });
    const coding = headers.getJoined("content-encoding") ?? "identity";
    const decoder = scanner &&
      createDecoder(coding, (bytes) => scanner.push(bytes));
    if (scanner === undefined || decoder === undefined) {
      this.#isOver = true;
      return;
    }
    const end = (isComplete: boolean) =>
      this.#end(scanner, decoder, coding, isComplete);
    const filter = this.#createFilter(contentType, coding);
    response.body = new MeteredBody(body, { sink: decoder, filter, end });
  }

  /** The client left before there was an answer; what it sent is charged, since the provider had it. */
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
      contentType?.startsWith("text/event-stream") === true;
    return isHidden ? createUsageChunkFilter() : undefined;
  }

  #end(
    scanner: UsageScanner,
    decoder: ContentDecoder,
    coding: string,
    isComplete: boolean,
  ): void {
    const settle = () => this.#settle(this.#read(scanner, isComplete));
    if (coding === "identity") return settle();
    this.#decoding = decoder.finish().then(() => {
      this.#decoding = undefined;
      settle();
    });
  }

  #read(scanner: UsageScanner, isComplete: boolean): TokenUsage | undefined {
    if (!isComplete) return scanner.estimate(this.#requestBytes);
    // A provider that never says what it used must not be free.
    return scanner.finish() ??
      (this.api && scanner.estimate(this.#requestBytes));
  }

  #settle(usage: TokenUsage | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#usage = usage;
    if (usage === undefined) return;
    for (const listener of this.#listeners) listener(usage);
  }
}
