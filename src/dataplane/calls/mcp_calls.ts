import type { PinPlace } from "../../mcp/approval/tool_pins.ts";
import type {
  LockedTool,
  Revocation,
} from "../../mcp/servers/tool_approval.ts";
import type { BackendMcpServer } from "../../proxy/mcp/mcp_endpoints.ts";
import { define, nothing } from "./data_plane_call.ts";
import type { TrafficThread } from "./traffic_thread.ts";

/** Calls about MCP servers. */
export const mcpCalls = {
  /** Lists the servers of all backends with MCP servers. */
  mcpServers: define({
    run: ({ compiled, mcp }: TrafficThread) => {
      const snapshot = compiled()?.snapshot;
      return snapshot === undefined ? [] : [...mcp.describeServers(snapshot)];
    },
    merge: (results) => mergeMcpServers(results.map(({ part }) => part)),
  }),
  /** Lists the tools of the servers of all backends, or of one, with what is held back or suspicious. */
  mcpTools: define({
    threads: "one",
    run: async ({ compiled, mcp }: TrafficThread, only?: PinPlace) => {
      const snapshot = compiled()?.snapshot;
      return snapshot === undefined
        ? []
        : await mcp.describeTools(snapshot, only);
    },
    merge: (results) => results.flatMap(({ part }) => part),
  }),
  /** Approves tools of a server without a lock file, in all threads when it resolves. Rejects when the store fails. */
  approveMcpTools: define({
    before: ({ pins }, place, tools) => pins.approve(place, tools),
    run: (
      { mcp }: TrafficThread,
      _place: PinPlace,
      _tools: ReadonlyMap<string, LockedTool>,
    ) => mcp.forgetApprovals(),
    merge: nothing,
  }),
  /** Revokes the approval of such tools by their names. Rejects when the store fails. */
  revokeMcpTools: define({
    before: ({ pins }, place, names, revocation) =>
      pins.revoke(place, names, revocation),
    run: (
      { mcp }: TrafficThread,
      _place: PinPlace,
      _names: readonly string[],
      _revocation: Revocation,
    ) => mcp.forgetApprovals(),
    merge: nothing,
  }),
  /** Decides anew which tools clients may use, because others are approved. */
  forgetMcpApprovals: define({
    run: ({ mcp }: TrafficThread) => mcp.forgetApprovals(),
    merge: nothing,
  }),
};

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
    held: shown.held ?? rest.held,
    suspicious: shown.suspicious ?? rest.suspicious,
    lastError,
    lastErrorAt,
  };
}

function isLater(one: string | null, other: string | null): boolean {
  return one !== null && (other === null || one > other);
}
