import { latin1 } from "../../base/bytes.ts";
import { isJsonObject, parseJson } from "../../base/json.ts";
import { isAnswerMember } from "../answer_shape.ts";
import { IMAGES, usagePathsOf } from "./response_usage.ts";
import { JsonScanner } from "../../base/json/json_scanner.ts";
import type { UsageTracker } from "./usage_tracker.ts";

/** A short response takes V8 less time to parse than this code to search. */
const PARSED_BYTES = 2048;

/** Finds usage in JSON responses, NDJSON and arrays of responses, without buffering them. */
export class JsonUsage {
  readonly #tracker: UsageTracker;
  /** Created for what is not parsed. */
  #scanner: JsonScanner | undefined;
  #document: Record<string, unknown> = {};
  #pushedBytes = 0;
  /** Bytes at the beginning that the scanner did not get. */
  #parsedBytes = 0;
  /** Offset up to which the current document was counted as content. */
  #countedTo: number | undefined;

  constructor(tracker: UsageTracker) {
    this.#tracker = tracker;
  }

  push(bytes: Uint8Array): void {
    const isWhole = this.#pushedBytes === 0 && bytes.length <= PARSED_BYTES &&
      this.#observeWhole(bytes);
    if (!isWhole) (this.#scanner ??= this.#createScanner()).push(bytes);
    this.#pushedBytes += bytes.length;
    if (this.#countedTo !== undefined) this.#countTo(this.#pushedBytes);
  }

  finish(): void {}

  #createScanner(): JsonScanner {
    return new JsonScanner(usagePathsOf(this.#tracker.api), {
      open: (path, offset) => {
        if (path === "") this.#countedTo = this.#parsedBytes + offset;
      },
      member: (path, text) => this.#set(path, text),
      item: (path) => {
        if (path === IMAGES) this.#tracker.images++;
      },
      end: (offset) => this.#observe(this.#parsedBytes + offset),
    });
  }

  /** Returns false for what is no complete response of a known API. */
  #observeWhole(bytes: Uint8Array): boolean {
    if (this.#tracker.api === undefined) return false;
    const document = parseJson(latin1(bytes));
    if (!isJsonObject(document)) return false;
    this.#document = document;
    const { data } = document;
    if (Array.isArray(data)) this.#tracker.images += data.length;
    this.#countedTo = 0;
    this.#parsedBytes = bytes.length;
    this.#observe(bytes.length);
    return true;
  }

  #set(path: string, text: string): void {
    const [first = "", second] = path.split(".");
    if (first === IMAGES) return;
    const value = parseJson(text);
    this.#tracker.isAnswer ||= isAnswerMember(path, value);
    if (second === undefined) {
      this.#document[first] = value;
      return;
    }
    const inner = this.#document[first];
    this.#document[first] = isJsonObject(inner)
      ? { ...inner, [second]: value }
      : { [second]: value };
  }

  #observe(offset: number): void {
    this.#countTo(offset);
    this.#countedTo = undefined;
    if (this.#tracker.observe(this.#document)) this.#tracker.output.reset();
    this.#document = {};
  }

  #countTo(offset: number): void {
    this.#tracker.output.addWhole(offset - (this.#countedTo ?? offset));
    this.#countedTo = offset;
  }
}
