import { parseJson } from "../../base/json.ts";
import { JsonPaths, JsonScanner } from "../../base/json/json_scanner.ts";
import { BYTES_PER_TOKEN } from "../usage/output_estimate.ts";
import { normalizeUsage, type TokenUsage } from "../usage/token_usage.ts";
import { MAX_TOKEN_COUNT, readUsageReport } from "../usage/usage_report.ts";

const paths = new JsonPaths([
  "type",
  "delta",
  "usage",
  "session.model",
  "session.instructions",
  "session.tools",
  "item.role",
  "item.content",
  "item.output",
  "audio_start_ms",
  "audio_end_ms",
  "session.audio.input.transcription.model",
  "response.model",
  "response.usage",
]);

/** Speech in PCM at 24 kHz and Base64: 20 tokens are a second of 64,000 characters. */
const AUDIO_BYTES_PER_TOKEN = 3200;
/** Speech of the user. */
const MS_PER_TOKEN = 100;
const MAX_MODEL_LENGTH = 256;

/** Events at the end of a response, with its usage. */
const responseEnds: ReadonlySet<unknown> = new Set([
  "response.done",
  "response.completed",
  "response.incomplete",
  "response.failed",
]);
/** Content of a response; that of a transcription is no output of the model. */
const contentDelta = /^response\..*\.delta$/;
/** `created` in the first version of the API. */
const isItem = /^conversation\.item\.(?:added|created)$/;
const TRANSCRIBED = "conversation.item.input_audio_transcription.completed";

/** Reads what the responses on a WebSocket of OpenAI use from the events of the server, in bounded memory. */
export class RealtimeUsage {
  #scanner: JsonScanner | undefined;
  #event: Record<string, unknown> = {};
  #eventBytes = 0;
  #model: string | undefined;
  /** Model at the beginning of the session, as the provider calls it. */
  #firstModel: string | undefined;
  #hasChangedModel = false;
  #transcriber: string | undefined;
  #isResponding = false;
  /** Estimated output of the response in progress. */
  #output = 0;
  /** Tokens of the conversation at the end of the latest response: the next one reads them again. */
  #context = 0;
  /** Estimated tokens of instructions and tools, which the first response reads. */
  #instructions = 0;
  /** Estimated tokens of what the user said since the latest response. */
  #added = 0;
  #speechStartMs = 0;
  #reported: TokenUsage | undefined;

  /** @param model Model that the path names. */
  constructor(model: string | undefined) {
    this.#model = model;
  }

  /** True between the beginning of a response and its usage. */
  get isResponding(): boolean {
    return this.#isResponding;
  }

  /** True once the session has another model than at its beginning, as servers other than OpenAI's allow. */
  get hasChangedModel(): boolean {
    return this.#hasChangedModel;
  }

  /** Receives the next bytes of an event. */
  push(bytes: Uint8Array): void {
    this.#scanner ??= new JsonScanner(paths, {
      member: (path, text) => this.#set(path, text),
    });
    this.#scanner.push(bytes);
    this.#eventBytes += bytes.length;
  }

  /** An event has ended. */
  end(): void {
    this.#observe(this.#event);
    this.#scanner = undefined;
    this.#event = {};
    this.#eventBytes = 0;
  }

  /** Returns what the latest event reports, once. */
  take(): TokenUsage | undefined {
    const usage = this.#reported;
    this.#reported = undefined;
    return usage;
  }

  /** Estimates a response that the end of the connection has cut short; `undefined` without one. */
  finish(): TokenUsage | undefined {
    if (!this.#isResponding) return undefined;
    this.#isResponding = false;
    const usage = this.#estimate(this.#output);
    this.#context = usage?.totalTokens ?? 0;
    this.#output = this.#added = 0;
    return usage;
  }

  /** Estimates the next response, which reads the conversation again. */
  expect(outputTokens: number): TokenUsage | undefined {
    return this.#estimate(outputTokens);
  }

  #estimate(output: number): TokenUsage | undefined {
    const input = (this.#context || this.#instructions) + this.#added;
    const report = readUsageReport({
      input_tokens: Math.min(Math.ceil(input), MAX_TOKEN_COUNT),
      output_tokens: Math.min(Math.ceil(output), MAX_TOKEN_COUNT),
    }, "realtime");
    return report &&
      { ...normalizeUsage(report, this.#model), estimated: true };
  }

  #set(path: string, text: string): void {
    this.#event[path] = parseJson(text);
  }

  #observe(event: Readonly<Record<string, unknown>>): void {
    const { type } = event;
    this.#observeModel(type, readModel(event["session.model"]));
    this.#model = readModel(event["response.model"]) ?? this.#model;
    this.#transcriber =
      readModel(event["session.audio.input.transcription.model"]) ??
        this.#transcriber;
    this.#observeInput(event);
    if (responseEnds.has(type)) this.#endResponse(event["response.usage"]);
    else if (type === TRANSCRIBED) {
      this.#report(event["usage"], this.#transcriber ?? this.#model);
    } else if (type === "response.created") this.#isResponding = true;
    else if (typeof type === "string" && contentDelta.test(type)) {
      this.#isResponding = true;
      this.#output += this.#tokensOf(type, event["delta"]);
    }
  }

  #observeModel(type: unknown, model: string | undefined): void {
    if (model === undefined) return;
    // A provider may name the version of the model that the request names.
    this.#firstModel ??= type === "session.created"
      ? model
      : this.#model ?? model;
    this.#hasChangedModel ||= model !== this.#firstModel;
    this.#model = model;
  }

  /** The provider repeats what clients send, but for speech, of which it reports the times. */
  #observeInput(event: Readonly<Record<string, unknown>>): void {
    const { type } = event;
    if (type === "session.created" || type === "session.updated") {
      this.#instructions = tokensOfJson(event["session.instructions"]) +
        tokensOfJson(event["session.tools"]);
    } else if (
      isItem.test(String(type)) && event["item.role"] !== "assistant"
    ) {
      this.#added += tokensOfJson(event["item.content"]) +
        tokensOfJson(event["item.output"]);
    }
    const { audio_start_ms: start, audio_end_ms: end } = event;
    if (typeof start === "number") this.#speechStartMs = start;
    if (typeof end === "number" && end > this.#speechStartMs) {
      this.#added += Math.min(
        (end - this.#speechStartMs) / MS_PER_TOKEN,
        MAX_TOKEN_COUNT,
      );
    }
  }

  /** A piece of text has at least one token. */
  #tokensOf(type: string, delta: unknown): number {
    if (type.endsWith("audio.delta")) {
      return this.#eventBytes / AUDIO_BYTES_PER_TOKEN;
    }
    const length = typeof delta === "string" ? delta.length : this.#eventBytes;
    return Math.max(1, length / BYTES_PER_TOKEN);
  }

  #endResponse(usage: unknown): void {
    const reported = this.#report(usage, this.#model);
    if (reported === undefined) {
      this.#reported = this.finish();
      return;
    }
    this.#isResponding = false;
    this.#output = 0;
    this.#context = reported.totalTokens;
    this.#added = 0;
  }

  #report(usage: unknown, model: string | undefined): TokenUsage | undefined {
    const report = readUsageReport(usage, "realtime");
    this.#reported = report && normalizeUsage(report, model);
    return this.#reported;
  }
}

/** Estimates the tokens of text, also in JSON; 0 for no value. */
function tokensOfJson(value: unknown): number {
  if (value === undefined || value === null) return 0;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length / BYTES_PER_TOKEN;
}

function readModel(value: unknown): string | undefined {
  return typeof value === "string" && value !== ""
    ? value.slice(0, MAX_MODEL_LENGTH)
    : undefined;
}
