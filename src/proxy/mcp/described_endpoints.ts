import type { McpEndpoint } from "../../mcp/endpoint/federating_endpoint.ts";
import type { ServerToolCounts } from "../../mcp/servers/server_status.ts";

/** Describes endpoints for metrics, those of all users of a backend as one: a server is up if it is up for a user. */
export function* describeEndpoints(
  open: Iterable<{ readonly backend: string; readonly endpoint: McpEndpoint }>,
) {
  const byBackend = Map.groupBy(
    open,
    ({ backend }) => backend,
  );
  for (const [backend, open] of byBackend) {
    const readings = open.map(({ endpoint }) => endpoint.describe());
    const servers = readings.flatMap(({ servers }) => servers);
    yield {
      backend: backend.replace(/^[^/]*\//, ""),
      servers: [...new Set(servers.map(({ name }) => name))].map((name) => ({
        name,
        isUp: servers.some((each) => each.name === name && each.isUp),
        tools: mostOf(servers.filter((each) => each.name === name)),
      })),
      sessions: readings.reduce((sum, { sessions }) => sum + sessions, 0),
      waitingCalls: readings.reduce(
        (sum, { waitingCalls }) => sum + waitingCalls,
        0,
      ),
    };
  }
}

/** Users may have different tools at the same server. */
function mostOf(
  servers: readonly { readonly tools: ServerToolCounts }[],
): Readonly<Record<"listed" | "held" | "suspicious", number>> {
  const most = (name: keyof ServerToolCounts) =>
    Math.max(...servers.map(({ tools }) => tools[name] ?? 0));
  return {
    listed: most("listed"),
    held: most("held"),
    suspicious: most("suspicious"),
  };
}
