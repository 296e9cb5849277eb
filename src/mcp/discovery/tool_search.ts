import type { Clock } from "../../base/clock.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { RPC, RpcFailure } from "../protocol/rpc_messages.ts";
import type { SeesTools } from "../servers/server_connection.ts";
import {
  discoveryNames,
  discoveryRole,
  discoveryTools,
  searchLimits,
} from "./discovery_tools.ts";
import type { FoundTool, ToolIndex } from "./tool_index.ts";

/** Settings of discovery by search. */
export interface DiscoverySettings {
  /** Patterns of the tools that are listed, such as `docs_*`, by the names that clients use. */
  readonly pinned: readonly string[];
}

/** Indexes that are kept: users may have different lists. */
const MAX_INDEXES = 8;
const MAX_QUERY = 1000;
/** Characters of a description among the results of a search. */
const MAX_SUMMARY = 240;
/** Characters of all schemas that one request describes. */
const MAX_DESCRIPTIONS = 64 * 1024;
/** Tools whose rules are evaluated for a query. */
const MAX_JUDGED = 400;

/** Lets clients find the tools of the servers, in place of listing them all. */
export class ToolSearch {
  readonly #own: readonly JsonObject[];
  readonly #pinned: readonly string[];
  readonly #clock: Clock;
  readonly #indexes: Promise<ToolIndex>[] = [];

  /** @param servers Names of the servers. */
  constructor(
    { pinned }: DiscoverySettings,
    servers: readonly string[],
    clock: Clock,
  ) {
    this.#own = discoveryTools(servers);
    this.#pinned = pinned;
    this.#clock = clock;
  }

  /** True if tools of servers are listed. */
  get hasPinned(): boolean {
    return this.#pinned.length > 0;
  }

  /** Returns the list that clients see. */
  shown(items: readonly JsonObject[]): readonly JsonObject[] {
    const pinned = items.filter(({ name }) =>
      typeof name === "string" && discoveryRole(name) === undefined &&
      this.#pinned.some((pattern) =>
        pattern.endsWith("*")
          ? name.startsWith(pattern.slice(0, -1))
          : name === pattern
      )
    );
    return [...this.#own, ...pinned];
  }

  /** Searches. @param sees Decides which tools the rules let the client see. @throws {RpcFailure} */
  async search(
    tools: readonly FoundTool[],
    args: unknown,
    sees: SeesTools | undefined,
  ): Promise<JsonObject> {
    const { queries, limit } = readSearch(args);
    const index = await this.#indexOf(tools);
    const named = new Set<unknown>();
    const results: JsonObject[] = [];
    for (const query of queries) {
      const ranked = index.search(query).slice(0, MAX_JUDGED);
      const seen = await visible(ranked, sees);
      results.push({
        query,
        tools: seen.slice(0, limit).map(({ item, server }) => {
          const isKnown = named.has(item["name"]);
          named.add(item["name"]);
          return isKnown ? { name: item["name"] } : summaryOf(item, server);
        }),
      });
    }
    return textResult({ results });
  }

  /** Describes tools. @throws {RpcFailure} */
  async describe(
    tools: readonly FoundTool[],
    args: unknown,
    sees: SeesTools | undefined,
  ): Promise<JsonObject> {
    const names = stringsOf(args, "names", searchLimits.described);
    const asked = tools.filter(({ item: { name } }) =>
      typeof name === "string" && names.includes(name)
    );
    const described: JsonObject[] = [];
    let left = MAX_DESCRIPTIONS;
    for (const { item } of await visible(asked, sees)) {
      const { _meta: _, icons: __, ...definition } = item;
      const { length } = JSON.stringify(definition);
      if (length > left && described.length > 0) break;
      described.push(definition);
      left -= length;
    }
    const found = new Set(described.map(({ name }) => name));
    const missing = names.filter((name) => !found.has(name));
    return textResult({
      tools: described,
      ...(missing.length > 0 && { notFoundOrTooLong: missing }),
    });
  }

  async #indexOf(tools: readonly FoundTool[]): Promise<ToolIndex> {
    for (const known of this.#indexes) {
      const index = await known;
      if (isSame(index.tools, tools)) return index;
    }
    const created = import("./tool_index.ts")
      .then(({ ToolIndex }) => ToolIndex.create(tools, this.#clock));
    this.#indexes.unshift(created);
    this.#indexes.length = Math.min(this.#indexes.length, MAX_INDEXES);
    return await created;
  }
}

/** Returns the call that a call of `call_tool` stands for. @throws {RpcFailure} */
export function innerCall(params: JsonObject): JsonObject {
  const { arguments: outer } = params;
  const { name, arguments: args } = isJsonObject(outer) ? outer : {};
  if (typeof name !== "string" || discoveryRole(name) !== undefined) {
    throw invalid(
      `"name" must be the name of a tool that ${discoveryNames.search} has found`,
    );
  }
  const { arguments: _, ...rest } = params;
  return { ...rest, name, ...(args !== undefined && { arguments: args }) };
}

function isSame(a: readonly FoundTool[], b: readonly FoundTool[]): boolean {
  return a.length === b.length &&
    a.every(({ item }, index) => item === b[index]?.item);
}

async function visible(
  tools: readonly FoundTool[],
  sees: SeesTools | undefined,
): Promise<readonly FoundTool[]> {
  if (sees === undefined) return tools;
  const isSeen = await sees(tools.map(({ item }) => String(item["name"])));
  return tools.filter((_, index) => isSeen[index] === true);
}

function summaryOf(
  { name, title, description, inputSchema }: JsonObject,
  server: string,
): JsonObject {
  const text = typeof description === "string" ? description : title;
  const { properties, required } = isJsonObject(inputSchema) ? inputSchema : {};
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return {
    name,
    server,
    description: typeof text === "string" ? shorten(text) : "",
    arguments: isJsonObject(properties)
      ? Object.keys(properties).slice(0, searchLimits.found)
        .map((each) => needed.includes(each) ? each : `${each}?`).join(", ")
      : "",
  };
}

function shorten(text: string): string {
  const [paragraph = ""] = text.trim().split(/\n\s*\n/);
  const plain = paragraph.replace(/\s+/g, " ");
  return plain.length <= MAX_SUMMARY
    ? plain
    : `${plain.slice(0, MAX_SUMMARY).toWellFormed()}…`;
}

function readSearch(args: unknown) {
  const { limit = searchLimits.foundByDefault } = isJsonObject(args)
    ? args
    : {};
  if (
    typeof limit !== "number" || !Number.isInteger(limit) || limit < 1 ||
    limit > searchLimits.found
  ) {
    throw invalid(`"limit" must be an integer from 1 to ${searchLimits.found}`);
  }
  const queries = stringsOf(args, "queries", searchLimits.queries)
    .map((query) => query.slice(0, MAX_QUERY));
  return { queries, limit };
}

function stringsOf(
  args: unknown,
  name: string,
  max: number,
): readonly string[] {
  const list = isJsonObject(args) ? args[name] : undefined;
  const texts: readonly unknown[] = Array.isArray(list) ? list : [];
  const strings = texts.filter((each) => typeof each === "string");
  if (
    texts.length === 0 || texts.length > max || strings.length < texts.length
  ) {
    throw invalid(`"${name}" must be a list of 1 to ${max} strings`);
  }
  return strings;
}

function invalid(problem: string): RpcFailure {
  return new RpcFailure(RPC.INVALID_PARAMS, `Invalid params: ${problem}`);
}

function textResult(value: JsonObject): JsonObject {
  return { content: [{ type: "text", text: JSON.stringify(value) }] };
}
