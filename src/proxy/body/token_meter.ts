import { BytesBody } from "../../http/body.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import {
  type ContentDecoder,
  createDecoder,
} from "../../llm/format/content_decoder.ts";
import { withIncludeUsage } from "../../llm/usage/include_usage.ts";
import { detectLlmApi, type LlmApi, llmApiFacts } from "../../llm/llm_api.ts";
import { textSizeOf } from "../../llm/request_size.ts";
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
  UsageListener,
  UsageListeners,
} from "../../policy/usage_listeners.ts";
import { assertReadableContent } from "../../policy/expressions/readable_content.ts";
import { MeteredBody } from "./metered_body.ts";

const nobody = { listeners: [], mayAsk: true };

/** Counts the tokens of one request: reads the response while it streams by, and asks the provider for usage that it would not report. */
export class TokenMeter {
  #api: LlmApi | undefined;
  readonly #listeners: readonly UsageListener[];
  readonly #mayAsk: boolean;
  #requestBytes = 0;
  #hidesUsage = false;
  #isOver = false;
  /** What the head of the answer says. */
  #stated: TokenUsage | undefined;
  #usage: TokenUsage | undefined;
  #decoding: Promise<void> | undefined;

  constructor(
    api: LlmApi | undefined,
    { listeners, mayAsk }: Pick<UsageListeners, "listeners" | "mayAsk"> =
      nobody,
  ) {
    this.#api = api;
    this.#listeners = listeners;
    this.#mayAsk = mayAsk;
  }

  /** API of the provider, by the path; `undefined` when the shape of the response decides. */
  get api(): LlmApi | undefined {
    return this.#api;
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
   * @param maxBytes Longer bodies go on as they are, and count as so many bytes in an estimate.
   */
  async prepare(request: RequestMessage, maxBytes: number): Promise<void> {
    // The path may have been rewritten to the one that the provider knows.
    this.#api ??= detectLlmApi(request.method, request.target);
    // Where no interface is known, an estimate is never charged.
    if (this.#listeners.length === 0 || this.api === undefined) return;
    if (mayChangeBody(request.headers)) assertReadableContent(request.headers);
    const bytes = await peekBody(request, maxBytes);
    this.#requestBytes = bytes === undefined ? maxBytes : textSizeOf(bytes);
    if (!this.#mayAsk || bytes === undefined) return;
    if (!mayChangeBody(request.headers)) return;
    if (!llmApiFacts(this.api).needsIncludeUsage) return;
    const asking = await withIncludeUsage(bytes);
    if (asking === undefined) return;
    request.body = new BytesBody(asking);
    // What is compressed cannot be hidden from the client again.
    request.headers.set("accept-encoding", "identity");
    this.#hidesUsage = true;
  }

  /** Reads along with whoever reads the body of `response`. */
  watch(response: ResponseMessage): void {
    const { body, headers, status } = response;
    if (body === undefined || status >= 300) return void (this.#isOver = true);
    this.#stated = readUsageHeaders((name) => headers.getJoined(name));
    const contentType = headers.getJoined("content-type");
    const coding = headers.getJoined("content-encoding") ?? "identity";
    const sink = (bytes: Uint8Array) => scanner?.push(bytes);
    const known = createDecoder(coding, sink);
    // What is charged must not be free because it cannot be read: formats and codings that we do not know.
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
      /^text\/event-stream/i.test(contentType ?? "");
    return isHidden ? new UsageChunkFilter() : undefined;
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
    const stated = (isComplete ? scanner.finish() : undefined) ??
      this.#stated;
    if (stated !== undefined) return stated;
    const usage = scanner.estimate(this.#requestBytes);
    // A provider that never says what it used, or is not heard out, must not be free; what is no LLM must be.
    const isLlm = this.api !== undefined || !usage.estimated ||
      (!isComplete && usage.responseModel !== undefined);
    return isLlm ? usage : undefined;
  }

  #settle(usage: TokenUsage | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#usage = usage;
    if (usage === undefined) return;
    for (const listener of this.#listeners) listener(usage);
  }
}

/** Whether nothing in the head depends on the bytes of the body: a coding, a checksum or a signature, as AWS demands one. */
function mayChangeBody(headers: HeaderList): boolean {
  return !bodyFields.some((name) => headers.has(name)) &&
    headers.getJoined("authorization")?.startsWith("AWS4-") !== true;
}

const bodyFields = [
  "content-encoding",
  "content-digest",
  "content-md5",
  "digest",
  "repr-digest",
  "signature",
];
