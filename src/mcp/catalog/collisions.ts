import type { Log } from "../../base/log/log.ts";
import type { ListKind } from "../servers/lists/list_items.ts";
import type { McpServer } from "../servers/federated_server.ts";
import { foldName } from "../names/names.ts";
import type { Entry } from "./server_entries.ts";

const MAX_REPORTS = 1000;

/** Drops items whose names two servers have, and logs each collision once. */
export class Collisions {
  readonly #log: Log;
  readonly #reported = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Drops items whose names two servers have, or that look alike: the one that is left would inherit the trust in the other. */
  without(kind: ListKind, entries: readonly Entry[]): readonly Entry[] {
    const owners = new Map<string, McpServer | undefined>();
    const fold = (name: string) =>
      kind === "tools" || kind === "prompts" ? foldName(name) : name;
    for (const { exposed, server } of entries) {
      const name = fold(exposed);
      const owner = owners.has(name) ? owners.get(name) : server;
      owners.set(name, owner === server ? server : undefined);
    }
    return entries.filter(({ exposed, server }) => {
      if (owners.get(fold(exposed)) !== undefined) return true;
      this.#report(kind, exposed, server);
      return false;
    });
  }

  #report(kind: ListKind, name: string, { name: server }: McpServer): void {
    const id = `${kind} ${server} ${name}`;
    if (this.#reported.has(id) || this.#reported.size >= MAX_REPORTS) return;
    this.#reported.add(id);
    this.#log.warn("Two MCP servers have the same name, so neither is listed", {
      list: kind,
      name,
      server,
    });
  }
}
