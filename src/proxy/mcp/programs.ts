import type {
  ConnectorOptions,
  ServerConnector,
} from "../../mcp/servers/server_connector.ts";
import type { McpServerSettings } from "../../mcp/servers/mcp_settings.ts";
import { ProcessGuard } from "../../mcp/servers/stdio/process_guard.ts";
import type { StdioCommand } from "../../mcp/servers/stdio/stdio_command.ts";
import { StdioConnector } from "../../mcp/servers/stdio/stdio_connector.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";

/** Programs of MCP servers. A backend may have several endpoints, and outlive a change of other servers: its programs are the same. */
export class Programs {
  /** Ends the processes with this one. */
  readonly #guard = new ProcessGuard();
  readonly #open = new Map<string, StdioConnector>();

  /** Returns the connector of a server for one endpoint. @param backend Key of the backend. */
  connectorOf(
    backend: string,
    command: StdioCommand,
    options: ConnectorOptions,
  ): ServerConnector {
    const key = keyOf(backend, options.settings, command);
    const shared = this.#open.getOrInsertComputed(
      key,
      () => new StdioConnector(command, this.#guard, options),
    );
    return {
      scopeOf: (user) => shared.scopeOf(user),
      connect: (client) => shared.connect(client),
      isStale: (connection) => shared.isStale(connection),
      forget: () => shared.forget(),
      // Other endpoints may have it, too.
      retire: () => {},
      close: () => Promise.resolve(),
    };
  }

  /** Ends the processes of servers that are not in the snapshot, or have changed, when their requests are over. */
  retainOnly({ backends }: Snapshot): void {
    const wanted = new Set<string>();
    for (const [backend, { mcp }] of backends) {
      for (const { settings, transport } of mcp?.servers ?? []) {
        if (transport.kind !== "stdio") continue;
        wanted.add(keyOf(backend, settings, transport.command));
      }
    }
    for (const [key, connector] of this.#open) {
      if (wanted.has(key)) continue;
      this.#open.delete(key);
      connector.retire();
    }
  }

  /** Ends all processes; resolves when nothing is left of them. */
  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(open.map((connector) => connector.close()));
  }
}

function keyOf(
  backend: string,
  { name, timeouts }: McpServerSettings,
  command: StdioCommand,
): string {
  return JSON.stringify([backend, name, timeouts, command]);
}
