import { Buffer } from "node:buffer";
import type { LlmApi } from "../llm_api.ts";
import { ProviderTools } from "./provider_tools.ts";

/** Generated text under the names of all providers. */
const content =
  /"(?:content|text|reasoning|reasoning_content|refusal|partial_json|arguments|delta)"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)/g;
/** OpenAI responses repeat completed parts: only deltas are new. */
const deltas = /"delta"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)/g;

/** Does not match within a string, where the quotes are escaped. */
const responsesEvent = /"type"\s*:\s*"response\./;

/** Name of a tool that is called; deltas of its arguments have none. */
const call = /"name"\s*:\s*"[^"]/g;
const ITEM = '"response.output_item.';
const calledItem = /"type"\s*:\s*"\w*_call"/;
/** Most events have none of Anthropic's reasoning. */
const reasons = /"(?:thinking|signature|redacted)/;
/** Reasoning of Anthropic that is shown. */
const thinking = /"thinking"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)/g;
/** Reasoning that a provider hides, and clients send back: of OpenAI. */
const encrypted = /"encrypted_content"\s*:\s*"([^"\\]*)"/;
/** Of Anthropic, where it signs what it shows, too. */
const signature =
  /"(?:signature|redactedContent)"\s*:\s*"([^"\\]*)"|"redacted_thinking"\s*,\s*"data"\s*:\s*"([^"\\]*)"/g;
/** A summary is shorter than the reasoning. */
const summary =
  /"response\.reasoning_summary_text\.delta"[^\n]*"delta"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)/g;

/** Matches what is not generated: results of tools that the provider runs, in blocks of Anthropic and in chats of OpenAI's form. */
const toolResults =
  /"(?:type"\s*:\s*"content_block_start"|(?:executed_tools|annotations|search_results|citations)"\s*:\s*\[)[^\n]*/g;
/** Pieces of generated text are rarely longer; only others are searched for results. */
const LONG_PIECE_BYTES = 256;

/** The first part of a stream is measured exactly. */
const EXACT_BYTES = 64 * 1024;
/** Afterwards, one of this many bytes is sampled. */
const SAMPLED_PART = 4;
/** Spreads the gaps between samples evenly from half to one and a half, so that text that repeats is not sampled at the same place. */
const GOLDEN_RATIO = 0.618034;
/** Maximum size of a sample. */
const MAX_SAMPLE_BYTES = 1024;
/** English text has four bytes per token and more, code and other languages have fewer. */
const BYTES_PER_TOKEN = 3;
/** A call of a tool costs its name, and what a model generates around it; those of Anthropic twice as much. */
const TOKENS_PER_CALL = 18;
/** Encrypted reasoning has a head of its own, and this many characters of Base64 per token: of OpenAI, and of Anthropic. */
const encryptedScale = { head: 750, bytesPerToken: 7 };
const signedScale = { head: 200, bytesPerToken: 6.3 };

/** Reasoning is longer than its summary. */
const REASONING_PER_SUMMARY = 1.8;

/** Bytes per token of content that is measured whole, with the names and the punctuation of its format. */
const BYTES_PER_FORMATTED_TOKEN = 4;

/** Measures the generated text in an event stream: exactly at first, then by samples. */
export class ContentMeter {
  /** Input that tools of the provider add. */
  readonly tools = new ProviderTools();
  /** The API has events of tools that the provider runs. */
  readonly #hasTools: boolean;
  /** Not searched for in chats, which have the most events. */
  readonly #hasSignatures: boolean;
  #exactBytes = 0;
  #content = nothing;
  #samples = 0;
  /** Bytes to skip before the next sample. */
  #gap = 0;
  /** Bytes since the latest sample, and the content per byte of that sample. */
  #skippedBytes = 0;
  #density = nothing;

  /** @param api `undefined` if it is not known. */
  constructor(api?: LlmApi) {
    this.#hasTools = api === undefined || api === "messages" ||
      api === "responses";
    this.#hasSignatures = api !== "chat";
  }

  /** Estimated tokens of everything added. A piece of text has at least one, and many providers send each in a piece of its own. */
  get tokens(): number {
    const { bytes, pieces, calls, shown, hidden } = sum(
      this.#content,
      this.#density,
      this.#skippedBytes,
    );
    const tokens = Math.max(bytes / BYTES_PER_TOKEN, pieces) +
      Math.max(shown / BYTES_PER_TOKEN, hidden) + calls * TOKENS_PER_CALL;
    return Math.ceil(tokens);
  }

  /** Starts again. */
  reset(): void {
    this.tools.reset();
    this.#exactBytes = this.#skippedBytes = this.#gap = 0;
    this.#content = this.#density = nothing;
  }

  /** Adds bytes of a response in one piece, such as JSON. */
  addText(length: number): void {
    const bytes = length * BYTES_PER_TOKEN / BYTES_PER_FORMATTED_TOKEN;
    this.#content = sum(this.#content, { ...nothing, bytes });
  }

  /** Adds complete events. */
  addEvents(events: Uint8Array): void {
    if (this.#hasTools) this.tools.addEvents(events);
    const exact = Math.min(events.length, EXACT_BYTES - this.#exactBytes);
    if (exact > 0) {
      this.#exactBytes += exact;
      this.#content = sum(this.#content, this.#count(events, exact));
    }
    if (exact < events.length) this.#addLater(events.subarray(exact));
  }

  #count(events: Uint8Array, length: number): Content {
    return countContent(events, length, this.#hasSignatures);
  }

  /** Each sample stands for what came since the one before, as streams change: they begin with events that have no content. */
  #addLater(events: Uint8Array): void {
    this.#skippedBytes += events.length;
    const hasBegun = this.#density.pieces > 0;
    if (hasBegun && this.#skippedBytes < this.#gap) return;
    const length = Math.min(events.length, MAX_SAMPLE_BYTES);
    const sample = this.#count(events, length);
    this.#density = sum(nothing, sample, 1 / length);
    this.#content = sum(this.#content, this.#density, this.#skippedBytes);
    const spread = 0.5 + (++this.#samples * GOLDEN_RATIO) % 1;
    this.#gap = length * SAMPLED_PART * spread;
    this.#skippedBytes = 0;
  }
}

/** Generated content. */
interface Content {
  readonly bytes: number;
  /** Pieces of text. */
  readonly pieces: number;
  /** Calls of tools. */
  readonly calls: number;
  /** Bytes of reasoning, which may be a part of what a provider hides as well. */
  readonly shown: number;
  /** Tokens that the length of encrypted reasoning tells of. */
  readonly hidden: number;
}

const nothing: Content = { bytes: 0, pieces: 0, calls: 0, shown: 0, hidden: 0 };

function sum(one: Content, other: Content, scale = 1): Content {
  return {
    bytes: one.bytes + other.bytes * scale,
    pieces: one.pieces + other.pieces * scale,
    calls: one.calls + other.calls * scale,
    shown: one.shown + other.shown * scale,
    hidden: one.hidden + other.hidden * scale,
  };
}

function countContent(
  events: Uint8Array,
  length: number,
  hasSignatures: boolean,
): Content {
  const text = Buffer.from(events.buffer, events.byteOffset, length)
    .toString("latin1");
  if (responsesEvent.test(text)) return countResponses(text);
  const values = countValues(text, content);
  const { bytes, pieces } = values.longest > LONG_PIECE_BYTES
    ? countValues(text.replace(toolResults, ""), content)
    : values;
  const named = text.match(call)?.length ?? 0;
  const isOfAnthropic = named > 0 && text.includes('"content_block_start"');
  const calls = isOfAnthropic ? named * 2 : named;
  const hidesReasoning = hasSignatures && reasons.test(text);
  const reasoning = hidesReasoning ? countReasoning(text) : noReasoning;
  return { bytes, pieces, calls, ...reasoning };
}

const noReasoning = { shown: 0, hidden: 0 };

function countReasoning(text: string): Pick<Content, "shown" | "hidden"> {
  let hidden = 0;
  for (const { 1: signed, 2: redacted } of text.matchAll(signature)) {
    hidden += tokensOf(signed ?? redacted ?? "", signedScale);
  }
  return { hidden, shown: countValues(text, thinking).bytes };
}

function tokensOf(
  { length }: string,
  { head, bytesPerToken }: typeof signedScale,
): number {
  return Math.max(0, length - head) / bytesPerToken;
}

function countResponses(text: string): Content {
  const { bytes, pieces } = countValues(text, deltas);
  const summaries = countValues(text, summary).bytes;
  let [hidden, calls] = [0, 0];
  // Members of an event come in any order, but an event is one line.
  for (const line of text.includes(ITEM) ? text.split("\n") : []) {
    if (line.includes(`${ITEM}added"`) && calledItem.test(line)) calls++;
    if (!line.includes(`${ITEM}done"`)) continue;
    hidden += tokensOf(encrypted.exec(line)?.[1] ?? "", encryptedScale);
  }
  return {
    ...{ pieces, calls, hidden },
    bytes: bytes - summaries,
    shown: summaries * REASONING_PER_SUMMARY,
  };
}

/** Counts text; some providers have the same one under two names. */
function countValues(text: string, expression: RegExp) {
  let [bytes, pieces, longest, end, previous] = [0, 0, 0, 0, ""];
  for (const { 0: whole, 1: value = "", index } of text.matchAll(expression)) {
    const isCopy = value === previous && value !== "" &&
      !text.slice(end, index).includes("\n");
    end = index + whole.length;
    previous = value;
    if (isCopy || value === "") continue;
    bytes += value.length;
    longest = Math.max(longest, value.length);
    pieces++;
  }
  return { bytes, pieces, longest };
}
