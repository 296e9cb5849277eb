/** MCP servers and their tools, as the gateway describes them. */
import type { UiResponses } from "../../../responses.ts";

/** A server with its state. */
export type McpServer = UiResponses["mcp/servers"]["servers"][number];

/** A server with its tools. */
export type ListedServer = UiResponses["mcp/tools"]["servers"][number];

/** A tool as its server lists it. */
export type ListedTool = ListedServer["tools"][number];
