import { json } from "../http/admin_responses.ts";
import type { AdminTarget } from "../target/target.ts";

/** Returns the MCP servers of all backends: state, era, number of tools, last error. */
export async function listMcpServers(target: AdminTarget): Promise<Response> {
  return json({ servers: await target.dataPlane.call("mcpServers") });
}

/** Returns the tools of the MCP servers of all backends, for those who approve them. */
export async function listMcpTools(target: AdminTarget): Promise<Response> {
  return json({ servers: await target.dataPlane.call("mcpTools") });
}
