import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { type LlmApi, llmApiFacts } from "../llm_api.ts";

type Count = number | undefined;

/** Tokens of speech. */
export interface AudioTokens {
  readonly input: number;
  /** Part of `input` that was read from the prompt cache. */
  readonly cached: number;
  readonly output: number;
}

/** A usage object with translated field names and validated numbers, not yet normalized. */
export interface UsageReport {
  /** Naming scheme of the fields. */
  readonly dialect:
    | "chat"
    | "snake"
    | "gemini"
    | "converse"
    | "plain"
    | "duration";
  /** `input` excludes tokens read from and written to the prompt cache. */
  readonly cacheIsOutside: boolean;
  readonly input: Count;
  readonly output: Count;
  readonly cached: Count;
  readonly cacheCreation: Count;
  readonly total: Count;
  /** Part of the other counts that is speech, which has prices of its own. */
  readonly audio?: AudioTokens | undefined;
  /** Length of the speech that was transcribed, in place of tokens. */
  readonly audioSeconds?: number;
}

/** A report without counts. */
export const noCounts: UsageReport = {
  dialect: "plain",
  cacheIsOutside: false,
  input: undefined,
  output: undefined,
  cached: undefined,
  cacheCreation: undefined,
  total: undefined,
};

/** Reads a usage object by its field names; `api` decides only where providers share names. */
export function readUsageReport(
  usage: unknown,
  api: LlmApi | undefined,
): UsageReport | undefined {
  if (!isJsonObject(usage)) return undefined;
  if (usage["type"] === "duration") return readDuration(usage);
  const report = pickDialect(usage, api)?.(usage, api);
  return report !== undefined && hasCounts(report) ? report : undefined;
}

/** Keeps the latest value of each count: later events of a response repeat, extend or omit earlier counts, but never add to them. */
export function mergeUsageReports(
  earlier: UsageReport | undefined,
  later: UsageReport,
): UsageReport {
  // Gemini sends all counts with every chunk: a missing one is zero.
  if (earlier?.dialect !== later.dialect || later.dialect === "gemini") {
    return later;
  }
  return {
    dialect: later.dialect,
    cacheIsOutside: earlier.cacheIsOutside || later.cacheIsOutside,
    input: later.input ?? earlier.input,
    output: later.output ?? earlier.output,
    cached: later.cached ?? earlier.cached,
    cacheCreation: later.cacheCreation ?? earlier.cacheCreation,
    total: later.total ?? earlier.total,
    audio: later.audio ?? earlier.audio,
  };
}

type Reader = (
  usage: JsonObject,
  api: LlmApi | undefined,
) => UsageReport | undefined;

function pickDialect(
  usage: JsonObject,
  api: LlmApi | undefined,
): Reader | undefined {
  const snake = hasAny(usage, snakeFields);
  if (snake && inputTokensOf(api) !== undefined) return readSnake;
  if (hasAny(usage, chatFields)) return readChat;
  if (snake) return readSnake;
  if (hasAny(usage, geminiFields)) return readGemini;
  if (hasAny(usage, converseFields)) return readConverse;
  if (hasAny(usage, invocationFields)) return readConverse;
  if (hasAny(usage, plainFields)) return readPlain;
  if ("tokens" in usage || "billed_units" in usage) return readCohere;
  return "total_tokens" in usage ? readChat : undefined;
}

const chatFields = [
  "prompt_tokens",
  "completion_tokens",
  "prompt_cache_hit_tokens",
];
const snakeFields = [
  "input_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
];
const geminiFields = [
  "promptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
  "totalTokenCount",
];
const converseFields = ["inputTokens", "outputTokens", "totalTokens"];
/** Counts of Bedrock itself in a stream, independent of the model. */
const invocationFields = ["inputTokenCount", "outputTokenCount"];
/** Of Ollama, llama.cpp, TGI and watsonx. */
const plainInputs = [
  "prompt_eval_count",
  "tokens_evaluated",
  "input_length",
  "input_token_count",
];
const plainOutputs = [
  "eval_count",
  "tokens_predicted",
  "generated_tokens",
  "generated_token_count",
];
/** Names of counts that stand beside others in an object, in place of one of their own. */
export const plainFields: readonly string[] = [...plainInputs, ...plainOutputs];

/** OpenAI chat, embeddings and compatible APIs: DeepSeek, Mistral and gateways name cached tokens differently. */
function readChat(usage: JsonObject): UsageReport {
  const prompt = detailsOf(usage, "prompt_tokens_details");
  const hit = toTokenCount(usage["prompt_cache_hit_tokens"]);
  const missed = toTokenCount(usage["prompt_cache_miss_tokens"]);
  return {
    dialect: "chat",
    cacheIsOutside: false,
    input: toTokenCount(usage["prompt_tokens"]) ?? sum(hit, missed),
    output: toTokenCount(usage["completion_tokens"]),
    cached: toTokenCount(prompt["cached_tokens"]) ??
      toTokenCount(usage["cache_read_input_tokens"]) ?? hit ??
      toTokenCount(usage["num_cached_tokens"]),
    cacheCreation: toTokenCount(prompt["cache_write_tokens"]) ??
      toTokenCount(usage["cache_creation_input_tokens"]),
    total: toTokenCount(usage["total_tokens"]),
    audio: readAudio(prompt, detailsOf(usage, "completion_tokens_details")),
  };
}

/** OpenAI responses and Anthropic messages: the same names, but Anthropic's input excludes the cache. */
function readSnake(
  usage: JsonObject,
  api: LlmApi | undefined,
): UsageReport {
  const input = detailsOf(usage, "input_tokens_details", "input_token_details");
  const output = detailsOf(
    usage,
    "output_tokens_details",
    "output_token_details",
  );
  const inputTokens = inputTokensOf(api) ??
    (looksLikeAnthropic(usage) ? "withoutCache" : "withCache");
  return {
    dialect: "snake",
    cacheIsOutside: inputTokens === "withoutCache",
    input: toTokenCount(usage["input_tokens"]),
    output: toTokenCount(usage["output_tokens"]),
    cached: toTokenCount(input["cached_tokens"]) ??
      toTokenCount(usage["cache_read_input_tokens"]),
    // `cache_creation` is a breakdown of this number and must not be added.
    cacheCreation: toTokenCount(input["cache_write_tokens"]) ??
      toTokenCount(usage["cache_creation_input_tokens"]),
    total: toTokenCount(usage["total_tokens"]),
    audio: readAudio(input, output),
  };
}

/** Reads the part of the counts that is speech; `undefined` if there is none. */
function readAudio(
  input: JsonObject,
  output: JsonObject,
): AudioTokens | undefined {
  const read = (details: JsonObject) =>
    toTokenCount(details["audio_tokens"]) ?? 0;
  const audio = {
    input: read(input),
    cached: read(detailsOf(input, "cached_tokens_details")),
    output: read(output),
  };
  return audio.input + audio.output > 0 ? audio : undefined;
}

function inputTokensOf(api: LlmApi | undefined) {
  return api && llmApiFacts(api).inputTokens;
}

function looksLikeAnthropic(usage: JsonObject): boolean {
  if ("input_tokens_details" in usage || "total_tokens" in usage) return false;
  return "cache_read_input_tokens" in usage ||
    "cache_creation_input_tokens" in usage;
}

function readGemini(usage: JsonObject): UsageReport {
  return {
    dialect: "gemini",
    cacheIsOutside: false,
    input: sum(
      toTokenCount(usage["promptTokenCount"]),
      toTokenCount(usage["toolUsePromptTokenCount"]),
    ),
    output: sum(
      toTokenCount(usage["candidatesTokenCount"]),
      toTokenCount(usage["thoughtsTokenCount"]),
    ),
    cached: toTokenCount(usage["cachedContentTokenCount"]),
    cacheCreation: undefined,
    total: toTokenCount(usage["totalTokenCount"]),
  };
}

function readConverse(usage: JsonObject): UsageReport {
  return {
    dialect: "converse",
    cacheIsOutside: true,
    input: toTokenCount(usage["inputTokens"]) ??
      toTokenCount(usage["inputTokenCount"]),
    output: toTokenCount(usage["outputTokens"]) ??
      toTokenCount(usage["outputTokenCount"]),
    // Responses repeat both as `…InputTokenCount`.
    cached: toTokenCount(usage["cacheReadInputTokens"]) ??
      toTokenCount(usage["cacheReadInputTokenCount"]),
    cacheCreation: toTokenCount(usage["cacheWriteInputTokens"]) ??
      toTokenCount(usage["cacheWriteInputTokenCount"]),
    total: toTokenCount(usage["totalTokens"]),
  };
}

/** APIs that report two numbers; TGI reports the output only. */
function readPlain(usage: JsonObject): UsageReport {
  const read = (names: readonly string[]) =>
    toTokenCount(
      names.map((name) => usage[name]).find((it) => it !== undefined),
    );
  return {
    dialect: "plain",
    cacheIsOutside: false,
    input: read(plainInputs),
    output: read(plainOutputs),
    cached: undefined,
    cacheCreation: undefined,
    total: undefined,
  };
}

/** Transcriptions of Whisper are billed by the length of the recording. */
function readDuration({ seconds }: JsonObject): UsageReport | undefined {
  if (typeof seconds !== "number" || !(seconds >= 0)) return undefined;
  const audioSeconds = Math.min(seconds, MAX_AUDIO_SECONDS);
  return {
    dialect: "duration",
    cacheIsOutside: false,
    input: Math.ceil(audioSeconds * TOKENS_PER_SECOND),
    output: 0,
    cached: undefined,
    cacheCreation: undefined,
    total: undefined,
    audioSeconds,
  };
}

/** OpenAI's models that transcribe speech for tokens count it as so many. */
const TOKENS_PER_SECOND = 10;
const MAX_AUDIO_SECONDS = 1e7;

/** Cohere, in `usage` or in `meta`: tokens used, else tokens billed. */
function readCohere(
  usage: JsonObject,
  api: LlmApi | undefined,
): UsageReport | undefined {
  for (const part of [usage["tokens"], usage["billed_units"]]) {
    if (!isJsonObject(part)) continue;
    const known = hasAny(part, snakeFields) || "total_tokens" in part;
    if (known) return readSnake(part, api);
  }
  return undefined;
}

function hasCounts(report: UsageReport): boolean {
  const { input, output, cached, cacheCreation, total } = report;
  return sum(input, output, cached, cacheCreation, total) !== undefined;
}

function hasAny(usage: JsonObject, fields: readonly string[]): boolean {
  return fields.some((field) => field in usage);
}

function detailsOf(usage: JsonObject, ...fields: string[]): JsonObject {
  return fields.map((field) => usage[field]).find(isJsonObject) ?? {};
}

/** Adds the defined parts; `undefined` when there are none. */
function sum(...parts: readonly Count[]): Count {
  return parts.reduce(
    (total, part) => part === undefined ? total : (total ?? 0) + part,
    undefined,
  );
}

/** Upper bound of a token count; larger values are clamped. */
export const MAX_TOKEN_COUNT = 1e9;

/**
 * Reads a token count of a provider; returns `undefined` for other values, such as negative or infinite numbers.
 *
 * Rounds fractions up. Accepts strings of digits, the Protobuf JSON format of 64-bit integers.
 */
function toTokenCount(value: unknown): number | undefined {
  if (typeof value === "string") {
    return /^\d{1,15}$/.test(value) ? toTokenCount(Number(value)) : undefined;
  }
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    return undefined;
  }
  return Math.min(Math.ceil(value), MAX_TOKEN_COUNT);
}
