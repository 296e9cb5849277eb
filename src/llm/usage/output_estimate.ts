import { Buffer } from "node:buffer";
import { GrowingBuffer } from "../../base/bytes.ts";
import {
  eventsOf,
  firstEventEnd,
  readEventData,
} from "../../base/wire/event_stream.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";

/** Text has at least this many bytes per token, in most languages and in code. */
export const BYTES_PER_TOKEN = 3;
/** Encrypted reasoning is Base64 of at least this many characters per token. */
const ENCRYPTED_PER_TOKEN = 6;
/** A call of a tool costs its name, and what a model generates around it. */
const TOKENS_PER_CALL = 36;
/** Input that a run of a tool of the provider adds, beside the conversation, which the model reads again. */
const TOKENS_PER_RUN = 4000;

/** The first part of a stream is measured exactly. */
const EXACT_BYTES = 8 * 1024;
/** Afterwards, one of this many bytes is, in samples of about so many at most. */
const SAMPLED_PART = 8;
const SAMPLE_BYTES = 4096;
/** Spreads the gaps between samples evenly from half to one and a half, so that text that repeats is not sampled at the same place. */
const GOLDEN_RATIO = 0.618034;
/** Members of events are nested less deeply. */
const MAX_DEPTH = 16;

/** Generated content. */
class Content {
  /** Bytes of text. */
  text = 0;
  /** Pieces of text, each of which has at least one token: many providers send each token by itself. */
  pieces = 0;
  /** Bytes of reasoning that is shown; it may be a part of what is encrypted as well. */
  shown = 0;
  /** Characters of encrypted reasoning. */
  encrypted = 0;
  calls = 0;
  /** Runs of tools of the provider, and bytes of what they found. */
  runs = 0;
  found = 0;

  add(other: Readonly<Content>, scale: number): void {
    this.text += other.text * scale;
    this.pieces += other.pieces * scale;
    this.shown += other.shown * scale;
    this.encrypted += other.encrypted * scale;
    this.calls += other.calls * scale;
    this.runs += other.runs * scale;
    this.found += other.found * scale;
  }
}

type Kind = "text" | "shown" | "encrypted" | "calls";

/** Members whose strings are generated, under the names of all providers. */
const names: Readonly<Record<Kind, readonly string[]>> = {
  text: [
    ...["content", "text", "refusal", "partial_json", "arguments", "delta"],
    ...["input", "generated_text"],
  ],
  shown: ["reasoning", "reasoning_content", "thinking"],
  encrypted: ["encrypted_content", "signature", "redactedContent", "data"],
  calls: ["name"],
};

const kindOrder = ["text", "shown", "encrypted", "calls"] as const;
const kinds: ReadonlyMap<string, Kind> = new Map(
  kindOrder.flatMap((kind) =>
    names[kind].map((name): [string, Kind] => [name, kind])
  ),
);
/** Members with what tools of the provider found. */
const found: ReadonlySet<string> = new Set([
  ...["executed_tools", "annotations", "search_results", "citations"],
]);
const RESULT = "_tool_result";
/** Events of OpenAI's responses; all but deltas and items repeat what came before. */
const RESPONSE = "response.";
const run = /^response\.(?:\w+_call|mcp_list_tools)\.completed$/;
const call = /_call$/;

/**
 * Estimates the generated text in an event stream: exactly at first, then by samples.
 *
 * One token for three bytes of text, at least one for each piece; `docs/limits.md` has the whole rule.
 */
export class OutputEstimate {
  #content = new Content();
  /** The first events, which are measured when an estimate is needed; most never are. */
  readonly #first = new GrowingBuffer();
  #samples = 0;
  /** Bytes to skip before the next sample. */
  #gap = 0;
  /** Bytes since the latest sample, and the content per byte of that sample. */
  #skipped = 0;
  #density: Readonly<Content> = noContent;

  /** Estimated tokens of the output. */
  get tokens(): number {
    const { text, pieces, shown, encrypted, calls } = this.#total;
    return Math.ceil(
      Math.max(text / BYTES_PER_TOKEN, pieces) +
        Math.max(shown / BYTES_PER_TOKEN, encrypted / ENCRYPTED_PER_TOKEN) +
        calls * TOKENS_PER_CALL,
    );
  }

  /** Returns the tokens that tools of the provider have added to the input of a response: each run reads what came before it. */
  addedTo(input: number): number {
    const { runs, found } = this.#total;
    const reads = (runs + 1) / 2;
    return Math.ceil(
      runs * (input + TOKENS_PER_RUN) + reads * found / BYTES_PER_TOKEN,
    );
  }

  get #total(): Content {
    const total = new Content();
    total.add(this.#content, 1);
    total.add(this.#density, this.#skipped);
    total.add(measureEvents(this.#first.view), 1);
    return total;
  }

  /** Starts again: what there was is reported. */
  reset(): void {
    this.#content = new Content();
    this.#density = noContent;
    this.#skipped = this.#gap = 0;
    this.#first.discard(this.#first.length);
  }

  /** Adds bytes of a response in one piece, such as JSON. */
  addWhole(length: number): void {
    this.#content.text += length;
  }

  /** Adds complete server-sent events. */
  addEvents(events: Uint8Array): void {
    if (events.length === 0) return;
    if (this.#first.length + events.length <= EXACT_BYTES) {
      return this.#first.append(events);
    }
    this.#skipped += events.length;
    if (this.#skipped >= this.#gap) this.#sample(events);
  }

  /** Adds the JSON of one event. */
  addEvent(text: string): void {
    measureEvent(text, this.#content);
  }

  /** Each sample stands for what came since the one before, as streams change: they begin with events that have no content. */
  #sample(events: Uint8Array): void {
    const end = firstEventEnd(events, SAMPLE_BYTES);
    const sample = measureEvents(events.subarray(0, end));
    this.#density = new Content();
    this.#density.add(sample, 1 / end);
    this.#content.add(this.#density, this.#skipped);
    this.#skipped = 0;
    const spread = 0.5 + (++this.#samples * GOLDEN_RATIO) % 1;
    this.#gap = sample.pieces === 0
      ? 0
      : Math.min(end, SAMPLE_BYTES) * SAMPLED_PART * spread;
  }
}

const noContent: Readonly<Content> = new Content();

function measureEvents(events: Uint8Array): Content {
  const content = new Content();
  for (const event of eventsOf(events)) {
    measureEvent(readEventData(event), content);
  }
  return content;
}

function measureEvent(data: string, content: Content): void {
  const event = parseJson(data);
  if (!isJsonObject(event)) return;
  const { type, item, delta } = event;
  if (typeof type !== "string" || !type.startsWith(RESPONSE)) {
    return addMembers(event, content, MAX_DEPTH);
  }
  if (typeof delta === "string") {
    addText(delta, type.includes("reasoning") ? "shown" : "text", content);
  } else if (run.test(type)) content.runs++;
  else if (isJsonObject(item)) addItem(type, item, content);
}

function addItem(type: string, item: JsonObject, content: Content): void {
  const isAdded = type === `${RESPONSE}output_item.added`;
  if (isAdded && call.test(String(item["type"]))) content.calls++;
  const encrypted = item["encrypted_content"];
  const isDone = type === `${RESPONSE}output_item.done`;
  if (isDone && typeof encrypted === "string") {
    addText(encrypted, "encrypted", content);
  }
}

function addMembers(value: JsonObject, content: Content, depth: number): void {
  let previous: string | undefined;
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === "string") {
      const kind = kinds.get(name);
      if (kind === undefined) continue;
      const isMeant = name !== "data" || value["type"] === "redacted_thinking";
      // Some providers have the same text under two names.
      if (isMeant && member !== previous) addText(member, kind, content);
      previous = member;
    } else if (depth > 0 && !found.has(name)) {
      for (const part of Array.isArray(member) ? member : [member]) {
        if (!isJsonObject(part)) continue;
        if (isResult(part)) {
          content.runs++;
          content.found += JSON.stringify(part).length;
        } else addMembers(part, content, depth - 1);
      }
    }
  }
}

function isResult({ type }: JsonObject): boolean {
  return typeof type === "string" && type.endsWith(RESULT);
}

function addText(text: string, kind: Kind, content: Content): void {
  if (text === "") return;
  if (kind === "calls") content.calls++;
  else content[kind] += Buffer.byteLength(text);
  if (kind === "text") content.pieces++;
}
