/** The only file that knows MiniSearch, which ranks by BM25+ in this process and has no dependencies. */
import MiniSearch, { type SearchOptions } from "minisearch";
import type { Clock } from "../../base/clock.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { runInSlices } from "../../base/slices.ts";
import { relatedTerms } from "./related_terms.ts";
import { termsOf } from "./search_terms.ts";

/** A tool that can be found. */
export interface FoundTool {
  readonly server: string;
  /** As clients see it. */
  readonly item: JsonObject;
}

/** Weights of the parts of a tool, by recall with the tasks of LiveMCPBench. */
const weights = { name: 3, server: 2.5, description: 1.5, parameters: 0.5 };
const MIN_PREFIX = 4;

const options: SearchOptions = {
  boost: weights,
  bm25: { k: 1.2, b: 0.7, d: 0 },
  fuzzy: 0.1,
  prefix: (term) => term.length >= MIN_PREFIX,
};

const relatedOptions: SearchOptions = {
  ...options,
  fuzzy: false,
  prefix: false,
};
/** Weight of words that mean the same, beside those of the query. */
const RELATED_WEIGHT = 0.15;

/** Finds tools by words. */
export class ToolIndex {
  /** The list that the index is of. */
  readonly tools: readonly FoundTool[];
  readonly #index = new MiniSearch({
    fields: Object.keys(weights),
    tokenize: termsOf,
    processTerm: (term) => term,
  });

  private constructor(tools: readonly FoundTool[]) {
    this.tools = tools;
  }

  /** Creates the index of a list, in slices: thousands of tools take half a second. */
  static async create(
    tools: readonly FoundTool[],
    clock: Clock,
  ): Promise<ToolIndex> {
    const created = new ToolIndex(tools);
    await runInSlices(created.#fill(), clock);
    return created;
  }

  /** Returns the tools that match a query, the best first. */
  search(query: string): readonly FoundTool[] {
    const scores = new Map<number, number>();
    for (const { id, score } of this.#index.search(query, options)) {
      scores.set(Number(id), score);
    }
    const related = relatedTerms(query).join(" ");
    for (const { id, score } of this.#index.search(related, relatedOptions)) {
      const own = scores.get(Number(id)) ?? 0;
      scores.set(Number(id), own + RELATED_WEIGHT * score);
    }
    return [...scores].sort(([, a], [, b]) => b - a)
      .flatMap(([id]) => this.tools[id] ?? []);
  }

  *#fill(): Generator<void, void> {
    for (const [id, { server, item }] of this.tools.entries()) {
      const { name, title = "", description = "", inputSchema } = item;
      this.#index.add({
        id,
        name,
        server,
        description: `${title} ${description}`,
        parameters: parametersOf(inputSchema),
      });
      yield;
    }
  }
}

function parametersOf(schema: unknown): string {
  const properties = isJsonObject(schema) ? schema["properties"] : undefined;
  if (!isJsonObject(properties)) return "";
  return Object.entries(properties).map(([name, property]) => {
    const { description = "" } = isJsonObject(property) ? property : {};
    return `${name} ${description}`;
  }).join(" ");
}
