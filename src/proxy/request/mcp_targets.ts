import {
  type DiscoveryRole,
  discoveryRole,
} from "../../mcp/discovery/discovery_tools.ts";
import { owningServer } from "../../mcp/names/owning_server.ts";
import type { PolicyContext } from "../../policy/contract/policy.ts";
import type { Route } from "../../snapshot/snapshot.ts";

const MAX_NAMES = 1000;
/** Longer names are not kept. */
const MAX_NAME_LENGTH = 128;

type TargetKind = "tool" | "prompt" | "resource";

const known = new WeakMap<Route, McpTargets>();

/** The servers of the tools, prompts and resources behind a route: the configuration alone says them. */
export class McpTargets
  implements Required<Pick<PolicyContext, "mcpServer" | "discoveryRole">> {
  readonly #route: Route;
  readonly #searches: boolean;
  readonly #servers: Readonly<
    Record<TargetKind, Map<string, string | undefined>>
  > = { tool: new Map(), prompt: new Map(), resource: new Map() };

  private constructor(route: Route) {
    this.#route = route;
    this.#searches = route.backends.some(({ backend }) =>
      backend?.mcp?.discovery !== undefined
    );
  }

  /** Returns those of a route: the same object each time. */
  static of(route: Route): McpTargets {
    return known.getOrInsertComputed(route, () => new McpTargets(route));
  }

  /** Returns the server of a target, if it is the same at all backends of the route. */
  mcpServer(kind: TargetKind, name: string): string | undefined {
    const servers = this.#servers[kind];
    const server = servers.get(name);
    if (server !== undefined || servers.has(name)) return server;
    const found = this.#find(kind, name);
    if (servers.size >= MAX_NAMES) servers.clear();
    if (name.length <= MAX_NAME_LENGTH) servers.set(name, found);
    return found;
  }

  discoveryRole(name: string): DiscoveryRole | undefined {
    return this.#searches ? discoveryRole(name) : undefined;
  }

  #find(kind: TargetKind, name: string): string | undefined {
    const targets = this.#route.backends.flatMap(({ backend }) =>
      backend?.mcp ?? []
    );
    const owners = new Set(
      targets.map(({ servers }) =>
        owningServer(servers.map(({ settings }) => settings), kind, name)
      ),
    );
    const [only] = owners;
    return owners.size === 1 ? only : undefined;
  }
}
