import { EventStreamUsage } from "./event_stream_usage.ts";
import { JsonUsage } from "./json_usage.ts";
import type { LlmApi } from "../llm_api.ts";
import { SseUsage } from "./sse_usage.ts";
import type { TokenUsage } from "./token_usage.ts";
import { UsageTracker } from "./usage_tracker.ts";

/** Reads the usage out of an answer while it streams by. Keeps a bounded state and never throws, whatever comes. */
export interface UsageScanner {
  /** The next bytes of the body, without content coding. They are not kept. */
  push(bytes: Uint8Array): void;
  /**
   * The usage when the answer has ended; `undefined` when the provider said nothing that can be read.
   *
   * Where it only said the input before the answer broke off, the output is estimated.
   */
  finish(): TokenUsage | undefined;
  /**
   * The usage up to now, when the client left: what the provider said already, and for the rest a token per four bytes, of
   * `requestBytes` and of the text that was seen. Marked as estimated unless the provider had said everything.
   */
  estimate(requestBytes: number): TokenUsage;
}

/** How to read an answer. */
export interface UsageScannerOptions {
  /** The interface it comes from; where that is unknown, the shape of the answer decides. */
  readonly api: LlmApi | undefined;
  /** The value of its `Content-Type`. */
  readonly contentType: string | undefined;
  /** Whether to read content of any type; what is no JSON is then estimated by its length. */
  readonly readsAnything?: boolean;
}

/** One per format of an answer; puts what it finds into a `UsageTracker`. */
interface UsageFormat {
  push(bytes: Uint8Array): void;
  finish(): void;
}

/** A scanner for one answer; `undefined` when a content of that type cannot speak of usage. */
export function createUsageScanner(
  { api, contentType, readsAnything = false }: UsageScannerOptions,
): UsageScanner | undefined {
  const tracker = new UsageTracker(api);
  const format = createFormat(contentType, tracker) ??
    (readsAnything ? new UnknownUsage(tracker) : undefined);
  if (format === undefined) return undefined;
  return {
    push: (bytes) => format.push(bytes),
    finish: () => {
      format.finish();
      return tracker.finish();
    },
    estimate: (requestBytes) => {
      format.finish();
      return tracker.estimate(requestBytes);
    },
  };
}

const jsonType =
  /^application\/(?:json|x-ndjson|ndjson|jsonl|x-jsonlines|json-seq|[\w.+-]+\+json)$/;

function createFormat(
  contentType: string | undefined,
  tracker: UsageTracker,
): UsageFormat | undefined {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === "text/event-stream") return new SseUsage(tracker);
  if (jsonType.test(type)) return new JsonUsage(tracker);
  return type === "application/vnd.amazon.eventstream"
    ? new EventStreamUsage(tracker)
    : undefined;
}

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** Content of a type that we do not know: JSON by another name, or something of that length. */
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
