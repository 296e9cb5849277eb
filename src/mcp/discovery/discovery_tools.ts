import type { JsonObject } from "../../base/json.ts";

/** Names of the tools by which clients find others. */
export const discoveryNames = {
  search: "search_tools",
  describe: "describe_tools",
  call: "call_tool",
} as const;

/** Task of a tool of the gateway. */
export type DiscoveryRole = keyof typeof discoveryNames;

/** Returns the task of a tool of the gateway; `undefined` for tools of servers. */
export function discoveryRole(name: string): DiscoveryRole | undefined {
  switch (name) {
    case discoveryNames.search:
      return "search";
    case discoveryNames.describe:
      return "describe";
    case discoveryNames.call:
      return "call";
    default:
      return undefined;
  }
}

/** Limits of arguments: queries of a search, tools per query, and names to describe. */
export const searchLimits = {
  queries: 8,
  found: 50,
  foundByDefault: 10,
  described: 20,
} as const;

/** Returns the definitions of the tools, which never change while the configuration does not. @param servers Names of the servers. */
export function discoveryTools(
  servers: readonly string[],
): readonly JsonObject[] {
  return [searchTool(servers), describeTool, callTool];
}

function searchTool(servers: readonly string[]): JsonObject {
  return {
    name: discoveryNames.search,
    title: "Search tools",
    description: `Finds tools of these servers: ${
      servers.join(", ")
    }. Search before you say that something cannot be done. Describe one step of the task per query, such as "read a PDF file", and name a server if you want its tools. Then use ${discoveryNames.describe} and ${discoveryNames.call}.`,
    inputSchema: schemaOf({
      queries: {
        ...strings(searchLimits.queries),
        description: "One query per step of the task.",
      },
      limit: {
        type: "integer",
        minimum: 1,
        maximum: searchLimits.found,
        description:
          `Tools per query; ${searchLimits.foundByDefault} by default.`,
      },
    }, "queries"),
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
}

const describeTool: JsonObject = {
  name: discoveryNames.describe,
  title: "Describe tools",
  description:
    `Returns the descriptions and schemas of tools that ${discoveryNames.search} has found.`,
  inputSchema: schemaOf({ names: strings(searchLimits.described) }, "names"),
  annotations: { readOnlyHint: true, openWorldHint: false },
};

const callTool: JsonObject = {
  name: discoveryNames.call,
  title: "Call a tool",
  description:
    `Calls a tool that ${discoveryNames.search} has found, with arguments by the schema of ${discoveryNames.describe}.`,
  inputSchema: schemaOf({
    name: { type: "string" },
    arguments: { type: "object" },
  }, "name"),
  annotations: {
    readOnlyHint: false,
    destructiveHint: true,
    openWorldHint: true,
  },
};

function strings(maxItems: number): JsonObject {
  return { type: "array", items: { type: "string" }, minItems: 1, maxItems };
}

function schemaOf(properties: JsonObject, required: string): JsonObject {
  return {
    type: "object",
    properties,
    required: [required],
    additionalProperties: false,
  };
}
