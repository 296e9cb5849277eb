import { GrowingBuffer, latin1 } from "../../base/bytes.ts";
import { EventStreamUsage } from "./event_stream_usage.ts";
import { JsonUsage } from "./json_usage.ts";
import { type LlmApi, llmApiFacts } from "../llm_api.ts";
import { SseUsage } from "./sse_usage.ts";
import type { TokenUsage } from "./token_usage.ts";
import { PredictUsage } from "./predict_usage.ts";
import { type EstimateLimits, UsageTracker } from "./usage_tracker.ts";

/** Extracts token usage from a response while it is forwarded. Uses bounded memory and never throws on invalid input. */
export interface UsageScanner {
  /** Identifier of a response of OpenAI that runs in the background: clients may read it again. */
  readonly backgroundId: string | undefined;
  /** The API is not known, but the content has the form of an LLM's answer. */
  readonly isAnswer: boolean;
  /** The content type, or what has arrived, may have usage. */
  readonly mayHaveUsage: boolean;
  /** Takes the next bytes of the decoded body; does not retain them. */
  push(bytes: Uint8Array): void;
  /**
   * Returns the usage at the end of the response; `undefined` when the provider reported none.
   *
   * If the response was truncated after the input was reported, the output is estimated.
   */
  finish(): TokenUsage | undefined;
  /**
   * Returns the usage so far, when the client disconnected: reported counts, and estimates of the rest. Marked as estimated unless the
   * report is complete.
   * @param input Tokens of the input, if it was not reported.
   */
  estimate(input: number, limits?: EstimateLimits): TokenUsage;
}

/** Options of `createUsageScanner`. */
export interface UsageScannerOptions {
  /** API of the response; if unknown, the shape of the response decides. */
  readonly api: LlmApi | undefined;
  /** Value of `Content-Type`. */
  readonly contentType: string | undefined;
  /** Scans any content type; content that is not JSON is estimated by its length. */
  readonly readsAnything?: boolean;
}

/** Scans one response format; passes its findings to a `UsageTracker`. */
interface UsageFormat {
  /** The content is in no format that could have usage. */
  readonly isOpaque?: boolean;
  push(bytes: Uint8Array): void;
  finish(): void;
}

/** Creates a scanner for one response; `undefined` when its content type cannot contain usage. */
export function createUsageScanner(
  { api, contentType, readsAnything = false }: UsageScannerOptions,
): UsageScanner | undefined {
  const tracker = new UsageTracker(api);
  const format = createFormat(contentType, api, tracker) ??
    (readsAnything ? new UnknownUsage(tracker) : undefined);
  return format && new TrackedScanner(format, tracker);
}

/** A class, as V8 makes a hidden class for each object literal with a getter. */
class TrackedScanner implements UsageScanner {
  readonly #format: UsageFormat;
  readonly #tracker: UsageTracker;

  constructor(format: UsageFormat, tracker: UsageTracker) {
    this.#format = format;
    this.#tracker = tracker;
  }

  get backgroundId(): string | undefined {
    return this.#tracker.backgroundId;
  }

  get isAnswer(): boolean {
    return this.#tracker.isAnswer;
  }

  get mayHaveUsage(): boolean {
    return this.#format.isOpaque !== true;
  }

  push(bytes: Uint8Array): void {
    this.#format.push(bytes);
  }

  finish(): TokenUsage | undefined {
    this.#format.finish();
    return this.#tracker.finish();
  }

  estimate(input: number, limits?: EstimateLimits): TokenUsage {
    this.#format.finish();
    return this.#tracker.estimate(input, limits);
  }
}

const jsonType =
  /^application\/(?:json|x-ndjson|ndjson|jsonl|x-jsonlines|json-seq|[\w.+-]+\+json)$/;

function createFormat(
  contentType: string | undefined,
  api: LlmApi | undefined,
  tracker: UsageTracker,
): UsageFormat | undefined {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === "text/event-stream") return createSse(api, tracker);
  if (jsonType.test(type)) {
    return api === "predict"
      ? new PredictUsage(tracker)
      : new JsonUsage(tracker);
  }
  return type === "application/vnd.amazon.eventstream"
    ? new EventStreamUsage(tracker)
    : undefined;
}

function createSse(api: LlmApi | undefined, tracker: UsageTracker): SseUsage {
  const key = api === undefined ? "usage" : llmApiFacts(api).streamKey;
  return new SseUsage(tracker, key);
}

/** Enough to recognize a format. */
const HEAD_BYTES = 16;
const jsonStart = /^[\s\u00ef\u00bb\u00bf]*[{[]/;
const sseStart = /^[\s\u00ef\u00bb\u00bf]*(?:data|event|id|retry)?:/;

/** Scans content of unknown type: as JSON or events if it looks like them, else by its length. */
class UnknownUsage implements UsageFormat {
  readonly #tracker: UsageTracker;
  readonly #head = new GrowingBuffer();
  #format: UsageFormat | undefined;
  #isOpen = false;

  constructor(tracker: UsageTracker) {
    this.#tracker = tracker;
  }

  get isOpaque(): boolean {
    return this.#isOpen && this.#format === undefined;
  }

  push(bytes: Uint8Array): void {
    if (this.#isOpen) return this.#pass(bytes);
    this.#head.append(bytes);
    if (this.#head.length >= HEAD_BYTES) this.#open();
  }

  finish(): void {
    if (!this.#isOpen && this.#head.length > 0) this.#open();
    this.#format?.finish();
  }

  #open(): void {
    this.#isOpen = true;
    const head = this.#head.view;
    const text = latin1(head.subarray(0, HEAD_BYTES));
    if (jsonStart.test(text)) this.#format = new JsonUsage(this.#tracker);
    else if (sseStart.test(text)) {
      this.#format = createSse(this.#tracker.api, this.#tracker);
    }
    this.#pass(head);
    this.#head.discard(head.length);
  }

  #pass(bytes: Uint8Array): void {
    if (this.#format === undefined) {
      this.#tracker.output.addWhole(bytes.length);
    } else this.#format.push(bytes);
  }
}
