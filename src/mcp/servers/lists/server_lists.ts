import type { Clock } from "../../../base/clock.ts";
import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { setNewest } from "../../../base/kept_values.ts";
import {
  type ParameterHeader,
  readParameterHeaders,
} from "../../protocol/header_values.ts";
import { fetchList, type ServerList } from "./fetch_list.ts";
import type { ListKind } from "./list_items.ts";
import { allowsTool, type McpServerSettings } from "../mcp_settings.ts";
import type { McpServer } from "../federated_server.ts";
import type { ServerConnection } from "../server_connection.ts";

/** Lists that are kept, of all users. */
const MAX_LISTS = 256;

interface KeptList {
  readonly list: ServerList;
  readonly fetchedAt: number;
}

/** A listed tool, with what its calls depend on. */
export interface KnownTool {
  /** Arguments that clients repeat in headers; `undefined` if the schema is invalid. */
  readonly headers: readonly ParameterHeader[] | undefined;
  /** It has to run as a task, at a server of 2025-11-25. */
  readonly requiresTask: boolean;
}

/** The lists of one server, kept as long as the server says. */
export class ServerLists {
  readonly #clock: Clock;
  readonly #kept = new Map<string, KeptList>();
  readonly #pending = new Map<string, Promise<ServerList>>();
  /** Tools that were called since the last list of tools came. */
  readonly #tools = new Map<string, KnownTool>();
  readonly #onDropped: (kind: ListKind, count: number) => void;
  /** Numbers that were reported last. */
  readonly #dropped = new Map<ListKind, number>();
  #generation = 0;

  /** @param onDropped Called with the number of items that a list has lost, see `ServerList`, when that changes. */
  constructor(
    clock: Clock,
    onDropped: (kind: ListKind, count: number) => void,
  ) {
    this.#clock = clock;
    this.#onDropped = onDropped;
  }

  /**
   * Returns a list.
   * @param user Whom a list that depends on the user is for.
   * @param maxAgeMs Overrides how long the list is valid.
   * @throws {ServerFailure}
   */
  async get(
    kind: ListKind,
    server: McpServer,
    connection: ServerConnection,
    user: string,
    maxAgeMs?: number,
  ): Promise<ServerList> {
    const { view } = connection;
    const known = this.current(kind, view, user, maxAgeMs);
    if (known !== undefined) return known;
    const common = commonKey(kind, view);
    const own = ownKey(common, user);
    const generation = this.#generation;
    const pending: Promise<ServerList> = this.#pending.get(own) ??
      fetchList(kind, server, connection, this.#clock)
        .then((list) => {
          this.#report(kind, list);
          // Later pages of another view may be of this user only.
          return generation === this.#generation && view === connection.view
            ? this.#keep(list.isPrivate ? own : common, list)
            : list;
        })
        .finally(() => {
          // After `invalidate`, another one may be under way.
          if (this.#pending.get(own) === pending) this.#pending.delete(own);
        });
    this.#pending.set(own, pending);
    return await pending;
  }

  /** Returns the same, if it is known and valid. */
  current(
    kind: ListKind,
    view: string,
    user: string,
    maxAgeMs?: number,
  ): ServerList | undefined {
    const common = commonKey(kind, view);
    return this.#fresh(common, maxAgeMs) ??
      this.#fresh(ownKey(common, user), maxAgeMs);
  }

  /** Returns the arguments of a tool that the server wants in headers; lists the tools if they are not known. @throws {ServerFailure} */
  async headersOf(
    server: McpServer,
    tool: string,
  ): Promise<readonly ParameterHeader[]> {
    const known = this.knownTool(tool)?.headers;
    if (known !== undefined) return known;
    const connection = await server.connect({ user: "", capabilities: {} });
    await this.get("tools", server, connection, "");
    return this.knownTool(tool)?.headers ?? [];
  }

  /** Returns what the calls of a tool depend on, as far as a list is known. */
  knownTool(tool: string): KnownTool | undefined {
    const known = this.#tools.get(tool);
    if (known !== undefined) return known;
    for (const [key, { list }] of this.#kept) {
      const item = isOfTools(key) ? list.items.get(tool) : undefined;
      if (item === undefined) continue;
      const found = describeTool(item);
      this.#tools.set(tool, found);
      return found;
    }
    return undefined;
  }

  /** Returns the number of tools that clients may see in the latest list; `undefined` without one. */
  countTools(settings: McpServerSettings): number | undefined {
    const latest = [...this.#kept].findLast(([key]) => isOfTools(key));
    return latest?.[1].list.items.keys()
      .filter((name) => allowsTool(settings, name))
      .reduce((count) => count + 1, 0);
  }

  /** Forgets all lists: they have changed. */
  invalidate(): void {
    this.#generation++;
    this.#kept.clear();
    this.#pending.clear();
    this.#tools.clear();
  }

  #fresh(key: string, maxAgeMs: number | undefined): ServerList | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    const age = this.#clock.monotonic() - kept.fetchedAt;
    return age < (maxAgeMs ?? kept.list.ttlMs) ? kept.list : undefined;
  }

  #report(kind: ListKind, { dropped }: ServerList): void {
    if (dropped === (this.#dropped.get(kind) ?? 0)) return;
    this.#dropped.set(kind, dropped);
    if (dropped > 0) this.#onDropped(kind, dropped);
  }

  /** Returns the kept list: the same object as before, if the server has sent the same again. */
  #keep(key: string, renewed: ServerList): ServerList {
    const before = this.#kept.get(key)?.list;
    const list = before !== undefined && isSame(before, renewed)
      ? before
      : renewed;
    if (list !== before) this.#tools.clear();
    const fetchedAt = this.#clock.monotonic();
    setNewest(this.#kept, key, { list, fetchedAt }, MAX_LISTS);
    return list;
  }
}

function isOfTools(key: string): boolean {
  return key.startsWith("tools\n");
}

function describeTool({ inputSchema, execution }: JsonObject): KnownTool {
  return {
    headers: readParameterHeaders(inputSchema),
    requiresTask: isJsonObject(execution) &&
      execution["taskSupport"] === "required",
  };
}

function isSame(a: ServerList, b: ServerList): boolean {
  return a.digest === b.digest && a.ttlMs === b.ttlMs &&
    a.isPrivate === b.isPrivate;
}

/** Returns the key of a list that all users have. */
function commonKey(kind: ListKind, view: string): string {
  return `${kind}\n${view}`;
}

function ownKey(common: string, user: string): string {
  return `${common}\n${user}`;
}
