import { Buffer } from "node:buffer";

/** The text that models write, under every name that providers have for it. */
const content =
  /"(?:content|text|thinking|reasoning|reasoning_content|refusal|partial_json|arguments|delta)"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)/g;
/** OpenAI responses repeat whole parts when they are done: only deltas are new. */
const deltas = /"delta"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)/g;

/** Not within a text, where the quotes would be escaped. */
const responsesEvent = /"type"\s*:\s*"response\./;

/** So much of a stream is looked at in full. */
const EXACT_BYTES = 4096;
/** After that, one byte of so many; the rest is taken to be alike. */
const SAMPLED_PART = 256;
/** The most that is looked at at once. */
const MAX_SAMPLE_BYTES = 1024;

/** Measures how much of a stream of events is text: exactly while the stream is short, by samples when it is long. */
export class ContentMeter {
  #seenBytes = 0;
  /** Bytes that were looked at. */
  #sampledBytes = 0;
  /** Bytes that the samples stand for, and how much of them is text. */
  #coveredBytes = 0;
  #contentBytes = 0;

  /** Bytes of text in all that was added. */
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

  /** Takes that many bytes of nothing but text. */
  addText(bytes: number): void {
    this.#seenBytes += bytes;
    this.#coveredBytes += bytes;
    this.#contentBytes += bytes;
  }

  /** Takes whole events. */
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
