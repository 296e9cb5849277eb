import { EventStreamUsage } from "./event_stream_usage.ts";
import { JsonUsage } from "./json_usage.ts";
import { type LlmApi, llmApiFacts } from "../llm_api.ts";
import { SseUsage } from "./sse_usage.ts";
import type { TokenUsage } from "./token_usage.ts";
import { PredictUsage } from "./predict_usage.ts";
import {
  type EstimateLimits,
  type InputTokens,
  UsageTracker,
} from "./usage_tracker.ts";

/** Extracts token usage from a response while it is forwarded. Uses bounded memory and never throws on invalid input. */
export interface UsageScanner {
  /** Identifier of a response of OpenAI that runs in the background: clients may read it again. */
  readonly backgroundId: string | undefined;
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
   * @param input Called if the input was not reported.
   */
  estimate(input: InputTokens, limits?: EstimateLimits): TokenUsage;
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

  push(bytes: Uint8Array): void {
    this.#format.push(bytes);
  }

  finish(): TokenUsage | undefined {
    this.#format.finish();
    return this.#tracker.finish();
  }

  estimate(input: InputTokens, limits?: EstimateLimits): TokenUsage {
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
  if (type === "text/event-stream") {
    const key = api === undefined ? "usage" : llmApiFacts(api).streamKey;
    return new SseUsage(tracker, key);
  }
  if (jsonType.test(type)) {
    return api === "predict"
      ? new PredictUsage(tracker)
      : new JsonUsage(tracker);
  }
  return type === "application/vnd.amazon.eventstream"
    ? new EventStreamUsage(tracker)
    : undefined;
}

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** Scans content of unknown type: as JSON if it looks like it, else by its length. */
class UnknownUsage implements UsageFormat {
  readonly #tracker: UsageTracker;
  #json: JsonUsage | undefined;
  #hasBegun = false;

  constructor(tracker: UsageTracker) {
    this.#tracker = tracker;
  }

  push(bytes: Uint8Array): void {
    if (!this.#hasBegun && bytes.length > 0) {
      this.#hasBegun = true;
      const isJson = bytes[0] === OPEN_BRACE || bytes[0] === OPEN_BRACKET;
      this.#json = isJson ? new JsonUsage(this.#tracker) : undefined;
    }
    if (this.#json === undefined) {
      this.#tracker.unreported.addText(bytes.length);
    } else this.#json.push(bytes);
  }

  finish(): void {}
}
