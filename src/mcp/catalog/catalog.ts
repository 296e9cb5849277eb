import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Log } from "../../base/log/log.ts";
import type { ListedTools } from "../approval/described_tools.ts";
import { ToolGuard } from "../approval/tool_guard.ts";
import { REVOKED_DIGEST } from "../approval/tool_lock.ts";
import type { ToolPins } from "../approval/tool_pins.ts";
import type { ParameterHeader } from "../protocol/header_values.ts";
import type { ListKind } from "../servers/lists/list_items.ts";
import { allowsTool } from "../servers/mcp_settings.ts";
import { ServerFailure } from "../servers/failures/server_failure.ts";
import type { McpServer } from "../servers/federated_server.ts";
import type { ServerConnection } from "../servers/server_connection.ts";
import { Collisions } from "./collisions.ts";
import { exposedName, hasPrefix, originalName } from "../names/names.ts";
import { ResourceFinder } from "./resource_finder.ts";
import {
  type CatalogReader,
  type CatalogServer,
  type ExposedList,
  type Place,
  SEARCH_AGE_MS,
  ServerEntries,
} from "./server_entries.ts";

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

/** Whom a list is for that is at hand. */
export interface OpenReader extends Pick<CatalogReader, "user"> {
  /** Returns a conversation that is open. */
  current(server: McpServer): ServerConnection | undefined;
}

/** Dependencies of a catalog. */
export interface CatalogOptions {
  readonly servers: readonly CatalogServer[];
  /** Key of the backend. */
  readonly backend: string;
  /** Approved tools of servers without a lock file. */
  readonly pins: ToolPins;
  readonly log: Log;
  readonly clock: Clock;
}

const MAX_KNOWN = 10_000;
const MAX_NAMED = 1000;

/** Tools, prompts and resources of the servers of an endpoint, under names that clients can tell apart. */
export class Catalog {
  readonly resources: ResourceFinder;
  readonly #servers: readonly CatalogServer[];
  readonly #guard: ToolGuard;
  readonly #entries: ServerEntries;
  readonly #collisions: Collisions;
  /** The lists that were merged last, by kind. */
  readonly #merged = new Map<
    ListKind,
    { readonly lists: readonly ExposedList[]; readonly list: MergedList }
  >();
  /** Places where items were found last, by kind and exposed name. */
  readonly #known = new Map<string, Place>();
  /** Places of tools that their names say, which no list changes. */
  readonly #named = new Map<string, Place>();

  constructor({ servers, backend, pins, log, clock }: CatalogOptions) {
    this.#servers = servers;
    this.#guard = new ToolGuard(backend, pins, log, clock);
    this.#entries = new ServerEntries(this.#guard);
    this.#collisions = new Collisions(log);
    this.resources = new ResourceFinder(servers, this.#entries);
  }

  /** Lists the items of all servers that respond in time. */
  async list(kind: ListKind, reader: CatalogReader): Promise<MergedList> {
    const results = await Promise.allSettled(
      this.#servers.map((each) => this.#entries.of(each, kind, reader)),
    );
    const failures: ServerFailure[] = [];
    const lists: ExposedList[] = [];
    for (const result of results) {
      if (result.status === "fulfilled") lists.push(result.value);
      else if (result.reason instanceof ServerFailure) {
        failures.push(result.reason);
      } else throw result.reason;
    }
    return failures.length === 0
      ? this.#mergeAll(kind, lists)
      : this.#merge(kind, lists, failures);
  }

  /** Returns the list if all servers have listed and none has failed: the same object while nothing changes. */
  current(kind: ListKind, reader: OpenReader): MergedList | undefined {
    const lists: ExposedList[] = [];
    for (const each of this.#servers) {
      const open = reader.current(each.server);
      const list = open && this.#entries.current(each, kind, open, reader.user);
      if (list === undefined) return undefined;
      lists.push(list);
    }
    return this.#mergeAll(kind, lists);
  }

  /** Merges the lists of all servers. Returns the same object as the last time if they are the same. */
  #mergeAll(kind: ListKind, lists: readonly ExposedList[]): MergedList {
    const latest = this.#merged.get(kind);
    const isSame = latest !== undefined &&
      lists.every(({ entries }, index) =>
        entries === latest.lists[index]?.entries
      );
    if (isSame) return latest.list;
    const list = this.#merge(kind, lists, []);
    this.#merged.set(kind, { lists, list });
    return list;
  }

  #merge(
    kind: ListKind,
    lists: readonly ExposedList[],
    failures: readonly ServerFailure[],
  ): MergedList {
    const kept = this.#collisions.without(
      kind,
      lists.flatMap(({ entries }) => entries),
    );
    const ttlMs = Math.min(...lists.map(({ list }) => list.ttlMs));
    return {
      items: kept.map(({ item }) => item),
      servers: kept.map(({ server }) => server.name),
      failures,
      ttlMs: failures.length > 0 || ttlMs === Infinity ? 0 : ttlMs,
      isPrivate: lists.some(({ list }) => list.isPrivate),
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
    const candidates = this.#candidates(exposed);
    const [only] = candidates;
    if (only === undefined) return undefined;
    const key = keyInName(candidates, kind, exposed);
    if (key !== undefined) {
      const { settings } = only.server;
      const isHidden = kind === "tools" && !allowsTool(settings, key);
      return isHidden ? undefined : { ...only, key };
    }
    return this.#findListed(
      candidates,
      kind,
      exposed,
      reader,
      isLocked(only, kind),
    );
  }

  /** Returns the place of a tool whose name says it all, whatever servers list; `undefined` for any other, also if there is none. */
  placeInName(exposed: string): Place | undefined {
    const known = this.#named.get(exposed);
    if (known !== undefined) return known;
    const candidates = this.#candidates(exposed);
    const [only] = candidates;
    const key = keyInName(candidates, "tools", exposed);
    if (only === undefined || key === undefined) return undefined;
    if (!allowsTool(only.server.settings, key)) return undefined;
    const place = { ...only, key };
    if (this.#named.size >= MAX_NAMED) this.#named.clear();
    this.#named.set(exposed, place);
    return place;
  }

  #candidates(exposed: string): readonly CatalogServer[] {
    return this.#servers.filter(({ server }) =>
      hasPrefix(server.settings.prefix, exposed)
    );
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
    return await Promise.all(
      this.#servers.map((each) => this.#listedToolsOf(each, reader)),
    );
  }

  async #listedToolsOf(
    each: CatalogServer,
    reader: CatalogReader,
  ): Promise<ListedTools> {
    const { name: server, settings } = each.server;
    const about = {
      server,
      prefix: settings.prefix,
      approval: settings.approval?.kind,
    };
    try {
      const { items } = await this.#entries.listOf(each, "tools", reader);
      const lock = await this.#guard.lockOf(settings, items);
      return { ...about, items, lock, error: undefined };
    } catch (error) {
      if (!(error instanceof ServerFailure)) throw error;
      const { message } = error;
      return { ...about, items: new Map(), lock: undefined, error: message };
    }
  }

  /** As `ServerEntries.knowsTool`. */
  knowsTool({ server }: Place, exposed: string): boolean {
    return this.#entries.knowsTool(server, exposed);
  }

  /** Counts the tools of a server that are held back or suspicious; `undefined` before its first list. */
  countsOf(server: string): ReturnType<ToolGuard["countsOf"]> {
    return this.#guard.countsOf(server);
  }

  /** Decides anew which tools clients may use: others are approved. */
  forgetApprovals(): void {
    this.#entries.forget();
  }

  /** @throws {ServerFailure} For a tool that is held back. */
  async #rejectHeld(
    candidates: readonly CatalogServer[],
    reader: CatalogReader,
    exposed: string,
  ): Promise<undefined> {
    for (const each of candidates) {
      const { name, settings: { approval, prefix } } = each.server;
      if (approval === undefined) continue;
      const list = await this.#entries.listOf(
        each,
        "tools",
        reader,
        SEARCH_AGE_MS,
      );
      const key = list.items.keys().find((key) =>
        exposedName(prefix, key) === exposed
      );
      if (key === undefined) continue;
      const lock = await this.#guard.lockOf({ name, approval }, list.items);
      const tool = lock?.get(key);
      // Clients do not learn the name of the administrator.
      const problem = tool?.digest === REVOKED_DIGEST
        ? `has a tool "${exposed}" whose approval was revoked${
          tool.revoked === undefined ? "" : ` at ${tool.revoked.at}`
        }`
        : `has a tool "${exposed}" that waits for approval`;
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
    if (place === undefined) return [];
    const { lists, key } = place;
    const known = lists.knownTool(key)?.headers;
    if (known !== undefined) return known;
    await this.#entries.of(place, "tools", reader);
    return lists.knownTool(key)?.headers ?? [];
  }

  async #search(
    candidates: readonly CatalogServer[],
    kind: "tools" | "prompts",
    reader: CatalogReader,
    exposed: string,
    maxAgeMs?: number,
  ): Promise<Place | undefined> {
    const results = await Promise.allSettled(
      candidates.map((each) => this.#entries.of(each, kind, reader, maxAgeMs)),
    );
    const entries = results.flatMap((result) =>
      result.status === "fulfilled" ? result.value.entries : []
    );
    const found = this.#collisions.without(kind, entries)
      .find((entry) => entry.exposed === exposed);
    if (found !== undefined && this.#known.size < MAX_KNOWN) {
      this.#known.set(`${kind}\n${exposed}`, found);
    }
    return found;
  }
}

function isLocked(
  { server: { settings: { approval } } }: CatalogServer,
  kind: ListKind,
): boolean {
  return approval !== undefined && kind === "tools";
}

/** Returns the server's name of an item, if it follows from the exposed name; see `originalName`. */
function keyInName(
  [only, ...others]: readonly CatalogServer[],
  kind: ListKind,
  exposed: string,
): string | undefined {
  return only === undefined || others.length > 0 || isLocked(only, kind)
    ? undefined
    : originalName(only.server.settings.prefix, exposed);
}
