import type { ToolApproval } from "./tool_approval.ts";

/** Settings of one server of an MCP endpoint, as compiled. */
export interface McpServerSettings {
  /** Name in the configuration, such as `github`. */
  readonly name: string;
  /** Beginning of the names of its tools and prompts, such as `github`; empty for none. */
  readonly prefix: string;
  /** True if users log in at the service behind it, which is asked for when they need it. */
  readonly asksUsers?: boolean;
  /** Patterns of the tools that clients may see, such as `get_*`; `undefined` for all. */
  readonly tools: readonly string[] | undefined;
  /** Descriptions that replace those of the server, by name of the tool. */
  readonly descriptions: ReadonlyMap<string, string>;
  /** Set if clients get only approved tools. */
  readonly approval?: ToolApproval | undefined;
  readonly timeouts: McpTimeouts;
}

/** Time limits of one server, in milliseconds. */
export interface McpTimeouts {
  /** To connect, and for `server/discover` or `initialize`. */
  readonly connectMs: number;
  /** For all pages of a list. */
  readonly listMs: number;
  /** Between two messages of a call, unless it waits for the client. */
  readonly callMs: number;
}

/** Address of a server that speaks Streamable HTTP. */
export interface McpAddress {
  /** Host, with its port unless that is implied. */
  readonly authority: string;
  /** Path and query. */
  readonly path: string;
  /** Header fields of every request, credentials included. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Reports whether clients may use a tool of a server. @param name As the server calls it. */
export function allowsTool(
  { tools }: Pick<McpServerSettings, "tools">,
  name: string,
): boolean {
  return tools === undefined ||
    tools.some((pattern) =>
      pattern.endsWith("*")
        ? name.startsWith(pattern.slice(0, -1))
        : name === pattern
    );
}
