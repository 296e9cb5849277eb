import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { readParameterHeaders } from "../../protocol/header_values.ts";

/** A list of MCP, by the member of the result that has the items. */
export type ListKind = "tools" | "prompts" | "resources" | "resourceTemplates";

/** Facts of a list. */
interface ListFacts {
  readonly method: string;
  /** Capability of servers that have the list. */
  readonly capability: "tools" | "prompts" | "resources";
  /** Member that identifies an item. */
  readonly key: "name" | "uri" | "uriTemplate";
  isValid(item: JsonObject): boolean;
}

/** Facts of each list. */
export const listFacts: Readonly<Record<ListKind, ListFacts>> = {
  tools: {
    method: "tools/list",
    capability: "tools",
    key: "name",
    isValid: isTool,
  },
  prompts: {
    method: "prompts/list",
    capability: "prompts",
    key: "name",
    isValid: ({ arguments: args }) =>
      args === undefined || Array.isArray(args) && args.every(isNamed),
  },
  resources: {
    method: "resources/list",
    capability: "resources",
    key: "uri",
    isValid: isNamed,
  },
  resourceTemplates: {
    method: "resources/templates/list",
    capability: "resources",
    key: "uriTemplate",
    isValid: isNamed,
  },
};

/** All lists. */
export const listKinds: readonly ListKind[] = [
  "tools",
  "prompts",
  "resources",
  "resourceTemplates",
];

/** Lists by the method that requests them. */
export const kindOfMethod: ReadonlyMap<string, ListKind> = new Map(
  listKinds.map((kind) => [listFacts[kind].method, kind]),
);

const MAX_KEY_LENGTH = 2048;
const texts: readonly string[] = ["title", "description", "mimeType"];

/** Returns what identifies an item; `undefined` for one that SDKs of clients reject, and the whole list with it. */
export function keyOf(kind: ListKind, item: JsonObject): string | undefined {
  const { key, isValid } = listFacts[kind];
  const name = item[key];
  const areTexts = texts.every((member) =>
    item[member] === undefined || typeof item[member] === "string"
  );
  return typeof name === "string" && name !== "" &&
      name.length <= MAX_KEY_LENGTH && areTexts && isValid(item)
    ? name
    : undefined;
}

function isNamed(item: unknown): boolean {
  return isJsonObject(item) && typeof item["name"] === "string";
}

function isTool(
  { inputSchema, outputSchema, annotations }: JsonObject,
): boolean {
  return isJsonObject(inputSchema) && inputSchema["type"] === "object" &&
    (outputSchema === undefined || isJsonObject(outputSchema)) &&
    (annotations === undefined || isJsonObject(annotations)) &&
    readParameterHeaders(inputSchema) !== undefined;
}
