import { isJsonObject, parseJson } from "../../base/json.ts";
import { AwsEventStream } from "../format/aws_event_stream.ts";
import { ByteSearch } from "../../base/wire/byte_search.ts";
import type { UsageTracker } from "./usage_tracker.ts";

const USAGE_KEY = '"usage';
/** Bedrock's `invoke-with-response-stream` wraps events of the model's own API: `{"bytes":"<base64>"}`. */
const wrappedKey = new ByteSearch('"bytes');
/** Member of the last event, for models that do not report usage. */
const METRICS = "amazon-bedrock-invocationMetrics";
const METRICS_KEY = `"${METRICS}"`;
const blockKey = new ByteSearch('"contentBlockIndex"');
const decoder = new TextDecoder();

/** Finds usage in Bedrock's binary event streams: in the `metadata` event of `converse-stream` and in events of models. */
export class EventStreamUsage {
  readonly #tracker: UsageTracker;
  readonly #stream: AwsEventStream;
  /** The model reported usage itself, including cached tokens, which the metrics may omit. */
  #isReported = false;

  constructor(tracker: UsageTracker) {
    this.#tracker = tracker;
    this.#stream = new AwsEventStream((payload) => this.#read(payload));
  }

  push(bytes: Uint8Array): void {
    this.#stream.push(bytes);
  }

  finish(): void {}

  #read(payload: Uint8Array): void {
    if (wrappedKey.find(payload) >= 0) {
      const event = unwrap(payload);
      if (event !== undefined) {
        this.#tracker.isAnswer = true;
        return this.#readEvent(event);
      }
    } else if (blockKey.find(payload) >= 0) this.#tracker.isAnswer = true;
    this.#readEvent(payload);
  }

  #readEvent(event: Uint8Array): void {
    const text = decoder.decode(event);
    this.#tracker.output.addEvent(text);
    if (text.includes(USAGE_KEY)) this.#observe(parseJson(text));
    else if (!this.#isReported && text.includes(METRICS_KEY)) {
      const document = parseJson(text);
      const usage = isJsonObject(document) ? document[METRICS] : undefined;
      this.#observe({ usage });
    }
  }

  #observe(document: unknown): void {
    if (!this.#tracker.observe(document)) return;
    this.#isReported = true;
    this.#tracker.output.reset();
  }
}

function unwrap(payload: Uint8Array): Uint8Array | undefined {
  const chunk = parseJson(decoder.decode(payload));
  const bytes = isJsonObject(chunk) ? chunk["bytes"] : undefined;
  if (typeof bytes !== "string") return undefined;
  try {
    return Uint8Array.fromBase64(bytes);
  } catch {
    // Not base64: not an event of a model.
    return undefined;
  }
}
