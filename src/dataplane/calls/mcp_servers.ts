import type { BackendMcpServer } from "../../proxy/mcp/mcp_endpoints.ts";

/** Merges what workers know about MCP servers: each has connections and checks of its own. */
export function mergeMcpServers(
  workers: readonly (readonly BackendMcpServer[])[],
): readonly BackendMcpServer[] {
  const groups = Map.groupBy(
    workers.flat(),
    ({ backend, name }) => `${backend} ${name}`,
  );
  return [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : others.reduce(mergeServer, first)
  );
}

const fromBest: readonly BackendMcpServer["state"][] = [
  "unused",
  "up",
  "failed",
];

/** The worse state counts; of the same one, that which began later. */
function mergeServer(
  one: BackendMcpServer,
  other: BackendMcpServer,
): BackendMcpServer {
  const rank = fromBest.indexOf(other.state) - fromBest.indexOf(one.state);
  const isOther = rank > 0 || rank === 0 && isLater(other.since, one.since);
  const [shown, rest] = isOther ? [other, one] : [one, other];
  const { lastError, lastErrorAt } =
    isLater(rest.lastErrorAt, shown.lastErrorAt) ? rest : shown;
  return {
    ...shown,
    era: shown.era ?? rest.era,
    tools: shown.tools ?? rest.tools,
    lastError,
    lastErrorAt,
  };
}

function isLater(one: string | null, other: string | null): boolean {
  return one !== null && (other === null || one > other);
}
