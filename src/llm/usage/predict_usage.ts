import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";
import { JsonPaths, JsonScanner } from "../../base/json/json_scanner.ts";
import type { UsageTracker } from "./usage_tracker.ts";

const METADATA = "metadata.tokenMetadata";
/** Statistics of an embedding. */
const EMBEDDED = "predictions[].embeddings.statistics.token_count";
const paths = new JsonPaths([METADATA, EMBEDDED]);

/**
 * Finds the counts in predictions of Vertex: of text in `metadata.tokenMetadata`, of embeddings one for each text. Other models, such
 * as those for images, have none.
 */
export class PredictUsage {
  readonly #tracker: UsageTracker;
  readonly #scanner: JsonScanner;
  #metadata: unknown;
  #embedded: number | undefined;

  constructor(tracker: UsageTracker) {
    this.#tracker = tracker;
    this.#scanner = new JsonScanner(paths, {
      member: (path, text) => this.#set(path, parseJson(text)),
    });
  }

  push(bytes: Uint8Array): void {
    this.#scanner.push(bytes);
  }

  finish(): void {
    const { inputTokenCount, outputTokenCount } = membersOf(this.#metadata);
    const input = membersOf(inputTokenCount)["totalTokens"] ?? this.#embedded;
    if (input === undefined) return;
    this.#tracker.observe({
      usage: {
        input_tokens: input,
        output_tokens: membersOf(outputTokenCount)["totalTokens"],
      },
    });
  }

  #set(path: string, value: unknown): void {
    if (path === METADATA) this.#metadata = value;
    else if (Number.isSafeInteger(value) && Number(value) >= 0) {
      this.#embedded = (this.#embedded ?? 0) + Number(value);
    }
  }
}

function membersOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
