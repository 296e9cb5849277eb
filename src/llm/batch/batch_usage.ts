import { parseJson } from "../../base/json.ts";
import { JsonPaths, JsonScanner } from "../../base/json/json_scanner.ts";
import type { LlmApi } from "../llm_api.ts";
import {
  addUsage,
  normalizeUsage,
  type TokenUsage,
} from "../usage/token_usage.ts";
import { readUsageReport } from "../usage/usage_report.ts";

/** Places of usage and model in a line of results, with the API whose names they have. */
const places: readonly (readonly [string, string, LlmApi | undefined])[] = [
  ["response.body.usage", "response.body.model", undefined],
  ["result.message.usage", "result.message.model", "messages"],
  ["response.usageMetadata", "response.modelVersion", "gemini"],
];
const linePaths = new JsonPaths(
  places.flatMap(([usage, model]) => [usage, model]),
);

/** A list of batches at Gemini. */
const OPERATIONS = "operations[]";
/** Results in a batch itself: of Gemini, which may have them twice, and of Mistral. */
const inlined = [
  "response.inlinedResponses.inlinedResponses[]",
  "metadata.output.inlinedResponses.inlinedResponses[]",
  "outputs[]",
];
const bases = ["", `${OPERATIONS}.`];
const batchPaths = new JsonPaths(
  bases.flatMap((base) => [
    ...["status", "output_file_id", "output_file", "usage", "model", "name"]
      .map((name) => base + name),
    ...inlined.flatMap((list) =>
      places.flatMap((place) =>
        place.slice(0, 2).map((path) => `${base}${list}.${path}`)
      )
    ),
  ]),
);
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
/** Further batches of a list do not count; no page is longer. */
const MAX_BATCHES = 1000;

/** Usage of a batch, by model; each is marked as that of a batch, which has prices of its own. */
export type BatchUsages = readonly TokenUsage[];

/** Adds up the usage of results, by model. */
class ResultSums {
  readonly #byModel = new Map<string, TokenUsage>();
  lines = 0;

  get usages(): BatchUsages {
    return [...this.#byModel.values()];
  }

  /** Adds the usage of a result among the values that were found. */
  addLine(members: ReadonlyMap<string, unknown>, prefix = ""): void {
    for (const [usagePath, modelPath, api] of places) {
      const usage = readBatchUsage(
        members.get(prefix + usagePath),
        members.get(prefix + modelPath),
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
      ...addUsage(sum, usage),
      responseModel: model === "" ? undefined : model,
      isBatch: true,
    });
  }
}

/** Adds up the usage in the results of a batch, without buffering them. */
export class ResultsUsage {
  readonly #scanner: JsonScanner;
  readonly #charged: number;
  readonly #sums = new ResultSums();
  #line = new Map<string, unknown>();

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
    return this.#sums.lines;
  }

  get usages(): BatchUsages {
    return this.#sums.usages;
  }

  push(bytes: Uint8Array): void {
    this.#scanner.push(bytes);
  }

  #endLine(): void {
    const line = this.#line;
    this.#line = new Map();
    if (this.#sums.lines++ >= this.#charged) this.#sums.addLine(line);
  }
}

/** A batch with its usage. */
export interface CountedBatch {
  /** Of the file with its results, under which either is charged once, or of the batch. */
  readonly id: string | undefined;
  /** Number of results in the batch itself; `undefined` if it has the sum of all. */
  readonly lines: number | undefined;
  readonly usages: BatchUsages;
}

/** Finds the usage in a batch, or in a list of batches with results. */
export class BatchObjectUsage {
  #members = new Map<string, unknown>();
  #results = new Map<string, ResultSums>();
  readonly #batches: CountedBatch[] = [];
  readonly #scanner = new JsonScanner(batchPaths, {
    member: (path, text) => this.#members.set(path, parseJson(text)),
    item: (path) => {
      if (path === OPERATIONS) this.#endBatch(`${OPERATIONS}.`);
      else this.#endResult(path);
    },
    end: () => this.#endBatch(""),
  });

  push(bytes: Uint8Array): void {
    this.#scanner.push(bytes);
  }

  /** Returns the batches, the last one with its results until now. */
  finish(): readonly CountedBatch[] {
    const [list] = this.#results.keys();
    if (list !== undefined) {
      this.#endBatch(list.startsWith(OPERATIONS) ? `${OPERATIONS}.` : "");
    }
    return this.#batches;
  }

  #endResult(list: string): void {
    const sums = this.#results.get(list) ?? new ResultSums();
    this.#results.set(list, sums);
    sums.lines++;
    const prefix = `${list}.`;
    sums.addLine(this.#members, prefix);
    for (const path of this.#members.keys()) {
      if (path.startsWith(prefix)) this.#members.delete(path);
    }
  }

  #endBatch(base: string): void {
    const read = (name: string) => this.#members.get(base + name);
    const usage = finalStates.has(read("status"))
      ? readBatchUsage(read("usage"), read("model"), "responses")
      : undefined;
    const [results] = [...this.#results.values()].toSorted((one, other) =>
      other.lines - one.lines
    );
    const counted = usage !== undefined && usage.totalTokens > 0
      ? { lines: undefined, usages: [usage] }
      : results && { lines: results.lines, usages: results.usages };
    if (counted !== undefined && this.#batches.length < MAX_BATCHES) {
      const names = ["output_file_id", "output_file", "name"].map(read);
      this.#batches.push({ ...counted, id: readId(names) });
    }
    this.#members = new Map();
    this.#results = new Map();
  }
}

/** Returns the first name: `b1` of Gemini's `batches/b1`. */
function readId(names: readonly unknown[]): string | undefined {
  for (const name of names) {
    if (typeof name === "string" && name !== "") return name.split("/").at(-1);
  }
  return undefined;
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
