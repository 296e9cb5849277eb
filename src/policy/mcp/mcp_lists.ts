import type { McpMessage } from "../expressions/mcp_message.ts";

/** Facts of a list that MCP servers return. */
interface ListFacts {
  readonly method: string;
  /** Member of an item that identifies it. */
  readonly identifier: "name" | "uri" | "uriTemplate";
  /** The field of `mcp` that a request for an item has. */
  readonly target: "tool" | "prompt" | "resource";
  /** The request for an item. */
  readonly itemMethod: string;
}

/** The lists, by the member of the result that holds the items. */
const lists = {
  tools: {
    method: "tools/list",
    identifier: "name",
    target: "tool",
    itemMethod: "tools/call",
  },
  prompts: {
    method: "prompts/list",
    identifier: "name",
    target: "prompt",
    itemMethod: "prompts/get",
  },
  resources: {
    method: "resources/list",
    identifier: "uri",
    target: "resource",
    itemMethod: "resources/read",
  },
  resourceTemplates: {
    method: "resources/templates/list",
    identifier: "uriTemplate",
    target: "resource",
    itemMethod: "resources/read",
  },
} as const satisfies Readonly<Record<string, ListFacts>>;

/** Name of a list, as in results. */
export type ListName = keyof typeof lists;

/** Field of `mcp` with the target of a request. */
export type McpTargetName = ListFacts["target"];

/** All lists. */
export const listNames: readonly ListName[] = [
  "tools",
  "prompts",
  "resources",
  "resourceTemplates",
];

/** Returns the facts of a list. */
export function listFacts(name: ListName): ListFacts {
  return lists[name];
}

/** Returns the list that a method returns; `undefined` when it returns none. */
export function listOfMethod(method: string): ListName | undefined {
  return listNames.find((name) => lists[name].method === method);
}

/**
 * Returns the message that uses an item of a list, as `mcp` in expressions. For a template, the name is the beginning of all URIs that
 * clients make of it (RFC 6570): the part that is expanded to itself.
 */
export function messageForItem(
  name: ListName,
  identifier: string,
  sessionId: string | undefined,
): McpMessage {
  const { itemMethod, target } = lists[name];
  return {
    ...(sessionId !== undefined && { sessionId }),
    methodName: itemMethod,
    [target]: {
      name: name === "resourceTemplates"
        ? identifier.replace(/[^!#$&'()*+,\-./0-9:;=?@A-Z[\]_a-z~].*$/s, "")
        : identifier,
    },
  };
}
