import type { JsonObject } from "../../base/json.ts";
import { type ListedTools, ToolGuard } from "../approval/described_tools.ts";
import type { Log } from "../../base/log.ts";
import type { ParameterHeader } from "../protocol/header_values.ts";
import { listFacts, type ListKind } from "../servers/list_items.ts";
import type { McpServer } from "../servers/federated_server.ts";
import type { ServerConnection } from "../servers/server_connection.ts";
import { ServerFailure } from "../servers/server_failure.ts";
import { allowsTool } from "../servers/mcp_settings.ts";
import type { ServerList, ServerLists } from "../servers/server_lists.ts";
import { withExposedPage } from "./exposed_content.ts";
import {
  exposedName,
  exposedUri,
  foldName,
  hasPrefix,
  matchesTemplate,
  originalName,
  originalUri,
} from "./names.ts";

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

/** A list of all servers. */
export interface MergedList {
  /** In the order of the servers, and of the names within each. */
  readonly items: readonly JsonObject[];
  /** Names of the servers of the items. */
  readonly servers: readonly string[];
  /** Servers whose items are missing. */
  readonly failures: readonly ServerFailure[];
  readonly ttlMs: number;
  readonly isPrivate: boolean;
}

/** Place of a tool, a prompt or a resource. */
export interface Place {
  readonly server: McpServer;
  /** Name or URI at the server. */
  readonly key: string;
}

interface Entry extends Place {
  readonly exposed: string;
  readonly item: JsonObject;
}

/** Decides whether a client may mean an item of a list by a URI. */
type UriMatch = (
  kind: "resources" | "resourceTemplates",
  key: string,
  uri: string,
) => boolean;

/** For finding an item, a list may be older than for showing it. */
const SEARCH_AGE_MS = 60_000;

/** Tools, prompts and resources of the servers of an endpoint, under names that clients can tell apart. */
export class Catalog {
  readonly #servers: readonly CatalogServer[];
  readonly #log: Log;
  readonly #guard: ToolGuard;
  /** Places where items were found last, by kind and exposed name. */
  readonly #known = new Map<string, Place>();
  /** Logs each collision once. */
  readonly #reported = new Set<string>();

  constructor(servers: readonly CatalogServer[], log: Log) {
    this.#servers = servers;
    this.#log = log;
    this.#guard = new ToolGuard(log);
  }

  /** Lists the items of all servers that respond in time. */
  async list(kind: ListKind, reader: CatalogReader): Promise<MergedList> {
    const results = await Promise.allSettled(
      this.#servers.map((each) => this.#entriesOf(each, kind, reader)),
    );
    const failures: ServerFailure[] = [];
    const entries: Entry[] = [];
    let ttlMs = Infinity;
    let isPrivate = false;
    for (const result of results) {
      if (result.status === "rejected") {
        if (!(result.reason instanceof ServerFailure)) throw result.reason;
        failures.push(result.reason);
        continue;
      }
      entries.push(...result.value.entries);
      ttlMs = Math.min(ttlMs, result.value.list.ttlMs);
      isPrivate ||= result.value.list.isPrivate;
    }
    const kept = this.#withoutCollisions(kind, entries);
    return {
      items: kept.map(({ item }) => item),
      servers: kept.map(({ server }) => server.name),
      failures,
      ttlMs: failures.length > 0 || ttlMs === Infinity ? 0 : ttlMs,
      isPrivate,
    };
  }

  /**
   * Finds the tool or prompt with an exposed name; `undefined` if there is none, or if two servers have one. Needs no promise where
   * the name says it all.
   */
  findName(
    kind: "tools" | "prompts",
    exposed: string,
    reader: CatalogReader,
  ): Place | undefined | Promise<Place | undefined> {
    const candidates = this.#servers.filter(({ server }) =>
      hasPrefix(server.settings.prefix, exposed)
    );
    const [only, ...others] = candidates;
    if (only === undefined) return undefined;
    const { server } = only;
    const original = originalName(server.settings.prefix, exposed);
    const isLocked = server.settings.lock !== undefined && kind === "tools";
    if (others.length === 0 && original !== undefined && !isLocked) {
      const isHidden = kind === "tools" &&
        !allowsTool(server.settings, original);
      return isHidden ? undefined : { server, key: original };
    }
    return this.#findListed(candidates, kind, exposed, reader, isLocked);
  }

  async #findListed(
    candidates: readonly CatalogServer[],
    kind: "tools" | "prompts",
    exposed: string,
    reader: CatalogReader,
    isLocked: boolean,
  ): Promise<Place | undefined> {
    return await this.#search(
      candidates,
      kind,
      reader,
      exposed,
      SEARCH_AGE_MS,
    ) ??
      await this.#search(candidates, kind, reader, exposed) ??
      this.#findLost(kind, exposed) ??
      (isLocked
        ? await this.#rejectHeld(candidates, reader, exposed)
        : undefined);
  }

  /** Returns the tools that the servers list now, those that are held back too. */
  async listedTools(reader: CatalogReader): Promise<readonly ListedTools[]> {
    return await Promise.all(this.#servers.map(async (each) => {
      const { name, settings: { lock } } = each.server;
      try {
        const { items } = await this.#listOf(each, "tools", reader);
        const tools = [...items.values()];
        return { server: name, lock, items: tools, error: undefined };
      } catch (error) {
        if (!(error instanceof ServerFailure)) throw error;
        return { server: name, lock, items: [], error: error.message };
      }
    }));
  }

  /** @throws {ServerFailure} For a tool that is held back. */
  async #rejectHeld(
    candidates: readonly CatalogServer[],
    reader: CatalogReader,
    exposed: string,
  ): Promise<undefined> {
    for (const each of candidates) {
      const { name, settings: { lock, prefix } } = each.server;
      if (lock === undefined) continue;
      const list = await this.#listOf(each, "tools", reader, SEARCH_AGE_MS);
      const isHeld = list.items.keys().some((key) =>
        exposedName(prefix, key) === exposed
      );
      if (!isHeld) continue;
      const problem = `has a tool "${exposed}" that waits for approval`;
      throw new ServerFailure(name, "failed", problem);
    }
  }

  /** Returns where an item was, if its server does not respond now. */
  #findLost(kind: ListKind, exposed: string): Place | undefined {
    const place = this.#known.get(`${kind}\n${exposed}`);
    return place?.server.health.failure === undefined ? undefined : place;
  }

  /** Returns the arguments of a tool that clients repeat in headers. @throws {ServerFailure} */
  async parameterHeaders(
    exposed: string,
    reader: CatalogReader,
  ): Promise<readonly ParameterHeader[]> {
    const place = await this.findName("tools", exposed, reader);
    const owner = this.#servers.find(({ server }) => server === place?.server);
    if (place === undefined || owner === undefined) return [];
    const known = owner.lists.knownHeaders(place.key);
    if (known !== undefined) return known;
    await this.#listOf(owner, "tools", reader);
    return owner.lists.knownHeaders(place.key) ?? [];
  }

  /** Finds the server of a resource. */
  findUri(exposed: string, reader: CatalogReader): Promise<Place | undefined> {
    return this.#findUri(
      exposed,
      reader,
      (kind, key, uri) =>
        kind === "resources" ? key === uri : matchesTemplate(key, uri),
    );
  }

  /** Finds the server of a template of URIs, or of a resource, that a client has from a list. */
  findTemplate(
    exposed: string,
    reader: CatalogReader,
  ): Promise<Place | undefined> {
    return this.#findUri(exposed, reader, (_, key, uri) => key === uri);
  }

  async #findUri(
    exposed: string,
    reader: CatalogReader,
    matches: UriMatch,
  ): Promise<Place | undefined> {
    const candidates = this.#servers.flatMap((each) => {
      const { server } = each;
      const key = originalUri(server.settings.prefix, exposed);
      return key === undefined ? [] : [{ ...each, key }];
    });
    // A prefix decides; a server without one has any other URI.
    const prefixed = candidates.filter(({ server }) =>
      server.settings.prefix !== ""
    );
    const [only, ...others] = prefixed.length > 0 ? prefixed : candidates;
    if (only === undefined || others.length === 0) return only;
    return await this.#searchUri([only, ...others], reader, matches);
  }

  async #searchUri(
    candidates: readonly (CatalogServer & Place)[],
    reader: CatalogReader,
    matches: UriMatch,
  ): Promise<Place | undefined> {
    const found = async (kind: "resources" | "resourceTemplates") => {
      const owners = await Promise.all(candidates.map(async (each) => {
        const list = await this.#listOf(each, kind, reader, SEARCH_AGE_MS)
          .catch(() => undefined);
        const keys = [...list?.items.keys() ?? []];
        return keys.some((key) => matches(kind, key, each.key));
      }));
      const [owner, ...more] = candidates.filter((_, index) => owners[index]);
      return more.length === 0 ? owner : undefined;
    };
    return await found("resources") ?? await found("resourceTemplates");
  }

  async #search(
    candidates: readonly CatalogServer[],
    kind: "tools" | "prompts",
    reader: CatalogReader,
    exposed: string,
    maxAgeMs?: number,
  ): Promise<Place | undefined> {
    const results = await Promise.allSettled(
      candidates.map((each) => this.#entriesOf(each, kind, reader, maxAgeMs)),
    );
    const entries = results.flatMap((result) =>
      result.status === "fulfilled" ? result.value.entries : []
    );
    const found = this.#withoutCollisions(kind, entries)
      .find((entry) => entry.exposed === exposed);
    if (found !== undefined && this.#known.size < MAX_KNOWN) {
      this.#known.set(`${kind}\n${exposed}`, found);
    }
    return found;
  }

  async #entriesOf(
    each: CatalogServer,
    kind: ListKind,
    reader: CatalogReader,
    maxAgeMs?: number,
  ): Promise<{ readonly entries: Entry[]; readonly list: ServerList }> {
    const list = await this.#listOf(each, kind, reader, maxAgeMs);
    const entries = entriesOfList.getOrInsertComputed(
      list,
      () => expose(each.server, kind, this.#admitted(each, kind, list)),
    );
    return { entries, list };
  }

  #admitted(
    { server: { name, settings } }: CatalogServer,
    kind: ListKind,
    { items }: ServerList,
  ): ServerList["items"] {
    return kind === "tools"
      ? this.#guard.admitted(name, settings.lock, items)
      : items;
  }

  async #listOf(
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

  /** Drops items whose names two servers have, or that look alike: the one that is left would inherit the trust in the other. */
  #withoutCollisions(
    kind: ListKind,
    entries: readonly Entry[],
  ): readonly Entry[] {
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
      this.#reportCollision(kind, exposed, server);
      return false;
    });
  }

  #reportCollision(kind: ListKind, name: string, { name: server }: McpServer) {
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

const MAX_REPORTS = 1000;
const MAX_KNOWN = 10_000;

/** A list stays the same as long as it is valid. */
const entriesOfList = new WeakMap<ServerList, Entry[]>();

function expose(
  server: McpServer,
  kind: ListKind,
  items: ServerList["items"],
): Entry[] {
  const { settings } = server;
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
      server,
      key,
      exposed,
      item: kind === "tools"
        ? withExposedPage(prefix, {
          ...withoutTasks(named),
          ...(description !== undefined && { description }),
        })
        : named,
    });
  }
  return entries.sort((a, b) => a.exposed < b.exposed ? -1 : 1);
}

/** The gateway offers no tasks, so a tool must not promise them. */
function withoutTasks({ execution: _, ...tool }: JsonObject): JsonObject {
  return tool;
}
