import { Buffer } from "node:buffer";

/** Generated text under the names of all providers. */
const content =
  /"(?:content|text|thinking|reasoning|reasoning_content|refusal|partial_json|arguments|delta)"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)/g;
/** OpenAI responses repeat completed parts: only deltas are new. */
const deltas = /"delta"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)/g;

/** Does not match within a string, where the quotes are escaped. */
const responsesEvent = /"type"\s*:\s*"response\./;

/** The first part of a stream is measured exactly. */
const EXACT_BYTES = 4096;
/** Afterwards, one of this many bytes is sampled. */
const SAMPLED_PART = 256;
/** Maximum size of a sample. */
const MAX_SAMPLE_BYTES = 1024;

/** Measures the generated text in an event stream: exactly at first, then by samples. */
export class ContentMeter {
  #seenBytes = 0;
  /** Bytes that were measured. */
  #sampledBytes = 0;
  /** Bytes that the samples represent, and the generated text in them. */
  #coveredBytes = 0;
  #contentBytes = 0;

  /** Estimated bytes of generated text in everything added. */
  get bytes(): number {
    if (this.#coveredBytes === 0) return 0;
    return Math.round(
      this.#contentBytes * this.#seenBytes / this.#coveredBytes,
    );
  }

  /** Starts again. */
  reset(): void {
    this.#seenBytes = 0;
    this.#sampledBytes = 0;
    this.#coveredBytes = 0;
    this.#contentBytes = 0;
  }

  /** Adds bytes that are generated text entirely. */
  addText(bytes: number): void {
    this.#seenBytes += bytes;
    this.#coveredBytes += bytes;
    this.#contentBytes += bytes;
  }

  /** Adds complete events. */
  addEvents(events: Uint8Array): void {
    if (events.length === 0) return;
    this.#seenBytes += events.length;
    const enough = EXACT_BYTES + this.#seenBytes / SAMPLED_PART;
    if (this.#sampledBytes > enough) return;
    const length = Math.min(events.length, MAX_SAMPLE_BYTES);
    this.#sampledBytes += length;
    this.#coveredBytes += events.length;
    this.#contentBytes += countContent(events, length) * events.length / length;
  }
}

function countContent(events: Uint8Array, length: number): number {
  const text = Buffer.from(events.buffer, events.byteOffset, length)
    .toString("latin1");
  const pattern = responsesEvent.test(text) ? deltas : content;
  let counted = 0;
  for (const [, value] of text.matchAll(pattern)) counted += value?.length ?? 0;
  return counted;
}
