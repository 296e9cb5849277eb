import { parseJson } from "../../base/json.ts";
import { JsonPaths, JsonScanner } from "../format/json_scanner.ts";
import type { LlmApi } from "../llm_api.ts";
import { addUsage, normalizeUsage, type TokenUsage } from "./token_usage.ts";
import { readUsageReport } from "./usage_report.ts";

/** Places of usage and model in a line of results, with the API whose names they have. */
const places: readonly (readonly [string, string, LlmApi | undefined])[] = [
  ["response.body.usage", "response.body.model", undefined],
  ["result.message.usage", "result.message.model", "messages"],
  ["response.usageMetadata", "response.modelVersion", "gemini"],
];
const linePaths = new JsonPaths(
  places.flatMap(([usage, model]) => [usage, model]),
);
const batchPaths = new JsonPaths([
  "status",
  "output_file_id",
  "usage",
  "model",
]);
/** States in which a batch uses nothing more. */
const finalStates: ReadonlySet<unknown> = new Set([
  "completed",
  "failed",
  "expired",
  "cancelled",
]);

/** Further models of a batch count as the last one of these. */
const MAX_MODELS = 32;
const MAX_MODEL_LENGTH = 256;

/** Usage of a batch, by model; each is marked as that of a batch, which has prices of its own. */
export type BatchUsages = readonly TokenUsage[];

/** Adds up the usage in the results of a batch, without buffering them. */
export class ResultsUsage {
  readonly #scanner: JsonScanner;
  readonly #charged: number;
  readonly #byModel = new Map<string, TokenUsage>();
  #line = new Map<string, unknown>();
  #lines = 0;

  /** @param charged Number of lines at the beginning that do not count. */
  constructor(charged: number) {
    this.#charged = charged;
    this.#scanner = new JsonScanner(linePaths, {
      member: (path, text) => this.#line.set(path, parseJson(text)),
      end: () => this.#endLine(),
    });
  }

  /** Number of lines until now. */
  get lines(): number {
    return this.#lines;
  }

  get usages(): BatchUsages {
    return [...this.#byModel.values()];
  }

  push(bytes: Uint8Array): void {
    this.#scanner.push(bytes);
  }

  #endLine(): void {
    const line = this.#line;
    this.#line = new Map();
    if (this.#lines++ < this.#charged) return;
    for (const [usagePath, modelPath, api] of places) {
      const usage = readBatchUsage(
        line.get(usagePath),
        line.get(modelPath),
        api,
      );
      if (usage !== undefined) this.#add(usage);
    }
  }

  #add(usage: TokenUsage): void {
    const { responseModel = "" } = usage;
    const isKnown = this.#byModel.has(responseModel) ||
      this.#byModel.size < MAX_MODELS;
    const model = isKnown
      ? responseModel
      : [...this.#byModel.keys()].at(-1) ?? responseModel;
    const sum = this.#byModel.get(model);
    this.#byModel.set(model, {
      ...(sum === undefined ? usage : addUsage(sum, usage)),
      responseModel: model === "" ? undefined : model,
      isBatch: true,
    });
  }
}

/** Finds the usage of a completed batch of OpenAI. */
export class BatchObjectUsage {
  readonly #members = new Map<string, unknown>();
  readonly #scanner = new JsonScanner(batchPaths, {
    member: (path, text) => this.#members.set(path, parseJson(text)),
  });

  push(bytes: Uint8Array): void {
    this.#scanner.push(bytes);
  }

  /** Identifier of the file with the results, under which either is charged once. */
  get resultsId(): string | undefined {
    const id = this.#members.get("output_file_id");
    return typeof id === "string" && id !== "" ? id : undefined;
  }

  get usages(): BatchUsages {
    const read = (name: string) => this.#members.get(name);
    if (!finalStates.has(read("status"))) return [];
    const usage = readBatchUsage(read("usage"), read("model"), "responses");
    return usage === undefined || usage.totalTokens === 0 ? [] : [usage];
  }
}

function readBatchUsage(
  usage: unknown,
  model: unknown,
  api: LlmApi | undefined,
): TokenUsage | undefined {
  const report = readUsageReport(usage, api);
  const name = typeof model === "string" && model !== ""
    ? model.slice(0, MAX_MODEL_LENGTH)
    : undefined;
  return report && { ...normalizeUsage(report, name), isBatch: true };
}
