import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { Billed } from "../cost/token_prices.ts";
import { type LlmApi, llmApiFacts } from "../llm_api.ts";
import {
  type Counts,
  type DialectName,
  dialects,
  type Places,
} from "./usage_dialects.ts";

/** A usage object with translated field names and validated numbers, not yet normalized; what was not reported is missing. */
export interface UsageReport extends Readonly<Counts> {
  /** Naming scheme of the fields. */
  readonly dialect: DialectName | "billed";
  /** `input` excludes tokens read from and written to the prompt cache. */
  readonly cacheIsOutside?: boolean;
  /** Reported in place of tokens, which are derived from it. */
  readonly billed?: Billed;
}

/** Reads a usage object by its field names; `api` decides only where providers share names. */
export function readUsageReport(
  usage: unknown,
  api: LlmApi | undefined,
): UsageReport | undefined {
  if (!isJsonObject(usage)) return undefined;
  if (usage["type"] === "duration") return readDuration(usage);
  if ("pages_processed" in usage) return readPages(usage);
  const dialect = pickDialect(usage, api);
  if (dialect === undefined) return readCohere(usage, api);
  const report = readCounts(usage, dialect, api);
  const { input, output, cached, cacheCreation, total } = report;
  const hasCounts =
    (input ?? output ?? cached ?? cacheCreation ?? total) !== undefined;
  return hasCounts ? report : undefined;
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
  const cacheIsOutside = earlier.cacheIsOutside || later.cacheIsOutside;
  return { ...earlier, ...later, ...(cacheIsOutside && { cacheIsOutside }) };
}

function pickDialect(
  usage: JsonObject,
  api: LlmApi | undefined,
): DialectName | undefined {
  const has = (name: DialectName) => hasAny(usage, dialects[name].names);
  if (inputTokensOf(api) !== undefined && has("snake")) return "snake";
  if (has("chat")) return "chat";
  if (has("snake")) return "snake";
  if (has("gemini")) return "gemini";
  if (has("converse")) return "converse";
  if (has("plain")) return "plain";
  if ("tokens" in usage || "billed_units" in usage) return undefined;
  return "total_tokens" in usage ? "chat" : undefined;
}

function readCounts(
  usage: JsonObject,
  dialect: DialectName,
  api: LlmApi | undefined,
): UsageReport {
  const cacheIsOutside = dialect === "converse" ||
    dialect === "snake" && excludesCache(usage, api);
  const report: UsageReport & Counts = { dialect, cacheIsOutside };
  for (const [name, places] of dialects[dialect].places) {
    const count = readCount(usage, places);
    if (count !== undefined) report[name] = count;
  }
  return dialect === "gemini"
    ? Object.assign(report, readModalities(usage))
    : report;
}

function readCount(usage: JsonObject, places: Places): number | undefined {
  for (const paths of places) {
    let sum: number | undefined;
    for (const path of paths) {
      let value: unknown = usage;
      for (const name of path) {
        value = isJsonObject(value) ? value[name] : undefined;
      }
      const count = toTokenCount(value);
      if (count !== undefined) sum = (sum ?? 0) + count;
    }
    if (sum !== undefined) return sum;
  }
  return undefined;
}

function inputTokensOf(api: LlmApi | undefined) {
  return api && llmApiFacts(api).inputTokens;
}

/** Reports whether the input excludes the cache, as Anthropic's does. */
function excludesCache(usage: JsonObject, api: LlmApi | undefined): boolean {
  const known = inputTokensOf(api);
  if (known !== undefined) return known === "withoutCache";
  return !hasAny(usage, ["input_tokens_details", "total_tokens"]) &&
    hasAny(usage, ["cache_read_input_tokens", "cache_creation_input_tokens"]);
}

function hasAny(usage: JsonObject, names: readonly string[]): boolean {
  return names.some((name) => name in usage);
}

/** Gemini's lists of tokens by modality. */
function readModalities(usage: JsonObject): Counts {
  const count = (list: string, modality: string) => {
    const items = usage[list];
    if (!Array.isArray(items)) return undefined;
    const item = items.find((each: unknown) =>
      isJsonObject(each) && each["modality"] === modality
    );
    return isJsonObject(item) ? toTokenCount(item["tokenCount"]) : undefined;
  };
  const counts = {
    audioInput: count("promptTokensDetails", "AUDIO"),
    audioCached: count("cacheTokensDetails", "AUDIO"),
    audioOutput: count("candidatesTokensDetails", "AUDIO"),
    imageInput: count("promptTokensDetails", "IMAGE"),
    imageOutput: count("candidatesTokensDetails", "IMAGE"),
  };
  return Object.fromEntries(
    Object.entries(counts).filter(([, value]) => value !== undefined),
  );
}

/** Transcriptions of Whisper are billed by the length of the recording. */
function readDuration({ seconds }: JsonObject): UsageReport | undefined {
  return billedUsage("audioSecond", seconds);
}

/** Mistral's OCR is billed by the page. */
function readPages({ pages_processed: pages }: JsonObject) {
  return billedUsage("page", pages);
}

/**
 * Tokens for budgets of tokens: OpenAI's models that transcribe or speak for tokens count a second as 10, and a character as about 4
 * for 3; a page and an image are the most that a provider documents for one of the usual size.
 */
const tokensPerUnit: Readonly<
  Record<
    Exclude<Billed["unit"], "search">,
    { readonly input: number; readonly output: number }
  >
> = {
  audioSecond: { input: 10, output: 0 },
  page: { input: 1600, output: 0 },
  image: { input: 0, output: 1600 },
  character: { input: 1 / 3, output: 4 / 3 },
};
const MAX_AMOUNT = 1e7;

/** Returns the usage of something that is billed in place of tokens; `undefined` if the amount is none. */
export function billedUsage(
  unit: keyof typeof tokensPerUnit,
  reported: unknown,
): UsageReport | undefined {
  const amount = readAmount(reported);
  if (amount === undefined) return undefined;
  const { input, output } = tokensPerUnit[unit];
  return {
    dialect: "billed",
    input: Math.ceil(amount * input),
    output: Math.ceil(amount * output),
    billed: { unit, amount },
  };
}

function readAmount(reported: unknown): number | undefined {
  return typeof reported === "number" && reported >= 0
    ? Math.min(reported, MAX_AMOUNT)
    : undefined;
}

/** Cohere, in `usage` or in `meta`: tokens used, else tokens billed; of rankings, also the searches that are billed in place of them. */
function readCohere(
  usage: JsonObject,
  api: LlmApi | undefined,
): UsageReport | undefined {
  const { tokens, billed_units: units } = usage;
  const amount = api === "rerank" && isJsonObject(units)
    ? readAmount(units["search_units"])
    : undefined;
  const billed = amount === undefined
    ? {}
    : { billed: { unit: "search", amount } } as const;
  for (const part of [tokens, units]) {
    if (!isJsonObject(part)) continue;
    const names = [...dialects.snake.names, "total_tokens"];
    if (hasAny(part, names)) {
      return { ...readCounts(part, "snake", api), ...billed };
    }
  }
  return amount === undefined ? undefined : { dialect: "billed", ...billed };
}

/** Reports whether a report has an input, or the request shows it better: TGI reports the output only, rankings their searches. */
export function hasInput({ dialect, input }: UsageReport): boolean {
  return dialect !== "plain" && dialect !== "billed" || input !== undefined;
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
