import type { JsonObject } from "../../base/json.ts";
import type { ToolGuard } from "../approval/tool_guard.ts";
import { listFacts, type ListKind } from "../servers/lists/list_items.ts";
import type { McpServer } from "../servers/federated_server.ts";
import { allowsTool } from "../servers/mcp_settings.ts";
import type { ServerConnection } from "../servers/server_connection.ts";
import type { ServerList } from "../servers/lists/fetch_list.ts";
import type { ServerLists } from "../servers/lists/server_lists.ts";
import { withExposedPage } from "../names/exposed_content.ts";
import { exposedName, exposedUri } from "../names/names.ts";

/** A server of an endpoint, with its lists. */
export interface CatalogServer {
  readonly server: McpServer;
  readonly lists: ServerLists;
}

/** Whom a list is for. */
export interface CatalogReader {
  /** Identity of the user. */
  readonly user: string;
  /** Returns a conversation in which the server lists. @throws {ServerFailure} */
  connect(server: McpServer): Promise<ServerConnection>;
}

/** Place of a tool, a prompt or a resource. */
export interface Place extends CatalogServer {
  /** Name or URI at the server. */
  readonly key: string;
}

/** An item of a list, with the name or URI that clients know. */
export interface Entry extends Place {
  readonly exposed: string;
  readonly item: JsonObject;
}

/** The items of a list of a server that clients may use. */
export interface ExposedList {
  /** The same object as long as the list is valid, and the same tools are approved. */
  readonly entries: readonly Entry[];
  readonly list: ServerList;
}

/** For finding an item, a list may be older than for showing it. */
export const SEARCH_AGE_MS = 60_000;

/** The lists of servers, as clients may have them. */
export class ServerEntries {
  readonly #guard: ToolGuard;
  /** A list stays the same as long as it is valid, and as long as the same tools are approved. */
  #entries = new WeakMap<ServerList, readonly Entry[]>();
  /** Names of the tools in the latest list of each server. */
  readonly #tools = new Map<McpServer, ReadonlySet<string>>();

  constructor(guard: ToolGuard) {
    this.#guard = guard;
  }

  /** Returns the items of a list that clients may use. @throws {ServerFailure} */
  async of(
    each: CatalogServer,
    kind: ListKind,
    reader: CatalogReader,
    maxAgeMs?: number,
  ): Promise<ExposedList> {
    const { server } = each;
    const entriesOfList = this.#entries;
    const list = await this.listOf(each, kind, reader, maxAgeMs);
    const known = entriesOfList.get(list);
    if (known !== undefined) return { entries: known, list };
    const items = kind === "tools"
      ? await this.#guard.admitted(server.settings, list.items)
      : list.items;
    const entries = expose(each, kind, items);
    entriesOfList.set(list, entries);
    if (kind === "tools") {
      this.#tools.set(server, new Set(entries.map(({ exposed }) => exposed)));
    }
    return { entries, list };
  }

  /** Returns the same, if the list and the judgement of its items are at hand. */
  current(
    { server, lists }: CatalogServer,
    kind: ListKind,
    { view }: ServerConnection,
    user: string,
  ): ExposedList | undefined {
    if (server.health.failure !== undefined) return undefined;
    const list = lists.current(kind, view, user);
    const entries = list && this.#entries.get(list);
    return entries && { entries, list };
  }

  /** Returns the whole list of a server. @throws {ServerFailure} */
  async listOf(
    { server, lists }: CatalogServer,
    kind: ListKind,
    reader: CatalogReader,
    maxAgeMs?: number,
  ): Promise<ServerList> {
    const failure = server.health.failure;
    if (failure !== undefined) throw failure;
    const connection = await reader.connect(server);
    return await lists.get(kind, server, connection, reader.user, maxAgeMs);
  }

  /** Reports whether a server has listed a tool. @param exposed Name that clients use; they can choose any. */
  knowsTool(server: McpServer, exposed: string): boolean {
    return this.#tools.get(server)?.has(exposed) === true;
  }

  /** Decides anew which tools clients may use. */
  forget(): void {
    this.#guard.forget();
    this.#entries = new WeakMap();
  }
}

function expose(
  owner: CatalogServer,
  kind: ListKind,
  items: ServerList["items"],
): Entry[] {
  const { settings } = owner.server;
  const { prefix, descriptions } = settings;
  const entries: Entry[] = [];
  for (const [key, item] of items) {
    if (kind === "tools" && !allowsTool(settings, key)) continue;
    const isNamed = kind === "tools" || kind === "prompts";
    const exposed = isNamed
      ? exposedName(prefix, key)
      : exposedUri(prefix, key);
    const named = { ...item, [listFacts[kind].key]: exposed };
    const description = descriptions.get(key);
    entries.push({
      ...owner,
      key,
      exposed,
      item: kind === "tools"
        ? withExposedPage(prefix, {
          ...named,
          ...(description !== undefined && { description }),
        })
        : named,
    });
  }
  return entries.sort((a, b) => a.exposed < b.exposed ? -1 : 1);
}
