import { latin1 } from "../../base/bytes.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";
import { JsonPaths, JsonScanner } from "../format/json_scanner.ts";
import type { UsageTracker } from "./usage_tracker.ts";

const paths = new JsonPaths(["metadata.tokenMetadata"]);
/** Statistics of an embedding. */
const statistics = /"token_count"\s{0,4}:\s{0,4}(\d{1,9})(?=[^\d])/g;
/** Longer than what the expression matches. */
const KEPT_BYTES = 64;

/**
 * Finds the counts in predictions of Vertex: of text in `metadata.tokenMetadata`, of embeddings one for each text. Other models, such
 * as those for images, have none.
 */
export class PredictUsage {
  readonly #tracker: UsageTracker;
  readonly #scanner: JsonScanner;
  #metadata: unknown;
  #embedded: number | undefined;
  #rest = "";

  constructor(tracker: UsageTracker) {
    this.#tracker = tracker;
    this.#scanner = new JsonScanner(paths, {
      member: (_, text) => this.#metadata = parseJson(text),
    });
  }

  push(bytes: Uint8Array): void {
    this.#scanner.push(bytes);
    const text = this.#rest + latin1(bytes);
    let end = 0;
    for (const found of text.matchAll(statistics)) {
      this.#embedded = (this.#embedded ?? 0) + Number(found[1]);
      end = found.index + found[0].length;
    }
    this.#rest = text.slice(Math.max(end, text.length - KEPT_BYTES));
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
}

function membersOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
