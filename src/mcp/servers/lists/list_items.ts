import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { readParameterHeaders } from "../../protocol/header_values.ts";
import { isSchema, withValidMembers } from "./item_members.ts";

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
    isValid: (item) => isNamed(item) && URL.canParse(String(item["uri"])),
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

/** Item of a list, with what identifies it. */
interface ListItem {
  readonly key: string;
  readonly item: JsonObject;
}

/** Returns an item as SDKs of clients accept it; `undefined` for one that they reject, and the whole list with it. */
export function readItem(kind: ListKind, sent: unknown): ListItem | undefined {
  if (!isJsonObject(sent)) return undefined;
  const { key: identifying, isValid } = listFacts[kind];
  const key = sent[identifying];
  const item = withValidMembers(sent);
  return typeof key === "string" && key !== "" &&
      key.length <= MAX_KEY_LENGTH && isValid(item)
    ? { key, item }
    : undefined;
}

function isNamed(item: unknown): boolean {
  return isJsonObject(item) && typeof item["name"] === "string";
}

function isTool({ inputSchema }: JsonObject): boolean {
  return isSchema(inputSchema) && inputSchema["type"] === "object" &&
    readParameterHeaders(inputSchema) !== undefined;
}
