import { Cancellation, sleep } from "../../base/cancellation.ts";
import type { JsonObject } from "../../base/json.ts";
import { exposedUri } from "../names/names.ts";
import {
  type Listener,
  type ListenFilter,
  ownSide,
  type ServerConnection,
} from "../servers/server_connection.ts";
import type { CatalogServer } from "../catalog/server_entries.ts";
import type { McpServer } from "../servers/federated_server.ts";
import type { EndpointServices } from "./endpoint_services.ts";
import { isAbout } from "./task_ids.ts";

/** Several servers change at the same time, when they restart. */
const DEBOUNCE_MS = 50;
const MAX_DEBOUNCE_MS = 1000;
const MIN_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 30_000;

/** The notifications about changed lists, by the capability of servers that send them. */
const listNotifications = {
  tools: "notifications/tools/list_changed",
  prompts: "notifications/prompts/list_changed",
  resources: "notifications/resources/list_changed",
} as const;

/** Options of the news for one client. */
export interface NewsOptions {
  readonly services: EndpointServices;
  /** Identity of the user of the client. */
  readonly user: string;
  /** Resources of which the client wants to hear, as a server knows them. */
  resourceUris(server: McpServer): readonly string[];
  /** Tasks of which the client hears, as it knows them: servers may also report those of others. */
  readonly taskIds: ReadonlySet<string>;
  /** Opens a conversation for the time of the news. */
  connect(server: McpServer): Promise<ServerConnection>;
  /** Sends a notification to the client. */
  notify(method: string, params: JsonObject): void;
  readonly ask: Listener["ask"];
  /** True for a conversation that ends with the news. */
  readonly closesConnections: boolean;
}

/** Notifications and requests of all servers that belong to no request of the client, merged for one client. */
export class ServerNews {
  readonly #options: NewsOptions;
  readonly #end = new Cancellation();
  readonly #restarts = new Map<McpServer, Cancellation>();
  /** Pauses before a server is listened to again. */
  readonly #pauses = new Map<McpServer, Cancellation>();
  readonly #due = new Set<string>();
  readonly #unwatch: () => void;
  /** Servers that have not been listened to yet. */
  readonly #opening: Set<McpServer>;
  readonly #opened = Promise.withResolvers<void>();
  #stopTimer: (() => void) | undefined;
  #debounceMs = DEBOUNCE_MS;
  /** Monotonic time of the latest notification of lists. */
  #notifiedAt = -Infinity;

  constructor(options: NewsOptions) {
    this.#options = options;
    const { changes, servers } = options.services;
    this.#unwatch = changes.watch((server) => {
      this.#allChanged();
      if (server.health.failure === undefined) {
        this.#pauses.get(server)?.cancel(isBack);
      }
    });
    this.#opening = new Set(servers.map(({ server }) => server));
    for (const each of servers) void this.#follow(each);
  }

  /** Resolves once each server sends what happens from now on, or has failed to. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Ends the streams from the servers. */
  close(): void {
    this.#unwatch();
    this.#stopTimer?.();
    this.#end.cancel(hasLeft);
  }

  /** Begins anew at a server: the client wants to hear of other resources. */
  refresh(server: McpServer): void {
    this.#restarts.get(server)?.cancel(hasLeft);
  }

  /** Listens to a server, and comes back to it when it ends its stream. */
  async #follow(each: CatalogServer): Promise<void> {
    const { clock } = this.#options.services;
    let pauseMs = MIN_PAUSE_MS;
    while (!this.#end.cancelled) {
      const startedAt = clock.monotonic();
      const restart = new Cancellation();
      const unsubscribe = this.#end.onCancel((why) => restart.cancel(why));
      this.#restarts.set(each.server, restart);
      const isBroken = await this.#listenOnce(each, restart);
      this.#noteOpen(each.server);
      const lastedMs = clock.monotonic() - startedAt;
      // A server without a stream ends it at once, each time.
      pauseMs = lastedMs > MAX_PAUSE_MS || restart.cancelled
        ? MIN_PAUSE_MS
        : Math.min(pauseMs * 2, MAX_PAUSE_MS);
      // A restart does not wait for the end of the pause.
      if (!restart.cancelled) await this.#pause(each.server, pauseMs, restart);
      unsubscribe();
      const mayMiss = isBroken && lastedMs > MIN_PAUSE_MS;
      if (mayMiss && !this.#end.cancelled) {
        // The server does not repeat announcements of the time between.
        each.lists.invalidate();
        this.#allChanged();
      }
    }
  }

  /** Waits, unless the server comes back before. */
  async #pause(
    server: McpServer,
    pauseMs: number,
    restart: Cancellation,
  ): Promise<void> {
    const pause = new Cancellation();
    const unsubscribe = restart.onCancel((why) => pause.cancel(why));
    this.#pauses.set(server, pause);
    await sleep(this.#options.services.clock, pauseMs, pause).catch(() => {});
    this.#pauses.delete(server);
    unsubscribe();
  }

  /** Listens until the stream ends; returns true if it broke. */
  async #listenOnce(
    each: CatalogServer,
    restart: Cancellation,
  ): Promise<boolean> {
    try {
      await this.#listen(each, restart);
      return false;
    } catch (error) {
      if (restart.cancelled) return false;
      const { log } = this.#options.services;
      const { name: server } = each.server;
      log.debug("An MCP server ended its stream", { server, error });
      each.server.noteFailure(error);
      return true;
    }
  }

  async #listen(
    { server }: CatalogServer,
    cancellation: Cancellation,
  ): Promise<void> {
    const { failure } = server.health;
    if (failure !== undefined) throw failure;
    const { connect, ask, closesConnections } = this.#options;
    const connection = await connect(server);
    try {
      const uris = this.#options.resourceUris(server);
      if (connection.about.era === "legacy" && closesConnections) {
        await subscribe(connection, uris, cancellation);
      }
      const tasks = this.#taskIdsOf(server);
      await connection.listen(filterOf(connection, uris, tasks), {
        cancellation,
        ask,
        onOpen: () => this.#noteOpen(server),
        notify: (method, params) => this.#pass(server, method, params),
      });
    } finally {
      if (closesConnections) connection.close().catch(() => {});
    }
  }

  #noteOpen(server: McpServer): void {
    this.#opening.delete(server);
    if (this.#opening.size === 0) this.#opened.resolve();
  }

  #pass(
    server: McpServer,
    method: string,
    params: JsonObject,
  ): void {
    const { name, settings: { prefix } } = server;
    const { notify, user, taskIds, services: { tasks } } = this.#options;
    if (method.endsWith("/list_changed")) return this.#changed(method);
    const { uri, logger } = params;
    if (method === "notifications/resources/updated") {
      if (typeof uri !== "string") return;
      notify(method, { ...params, uri: exposedUri(prefix, uri) });
    } else if (method === "notifications/message") {
      notify(method, { ...params, logger: loggerOf(name, prefix, logger) });
    } else if (method.startsWith("notifications/tasks")) {
      const exposed = tasks.expose(user, server, params);
      // An id that the client does not know yet would give it the task of another one.
      if (isAbout(taskIds, exposed)) notify(method, exposed);
    } else if (method === "notifications/elicitation/complete") {
      notify(method, params);
    }
  }

  /** Returns the tasks of a server, as it knows them. */
  #taskIdsOf({ name }: McpServer): readonly string[] {
    const { taskIds, user, services: { tasks } } = this.#options;
    return [...taskIds].flatMap((id) => {
      const place = tasks.find(user, id);
      return place?.server === name ? [place.id] : [];
    });
  }

  #allChanged(): void {
    for (const each of Object.values(listNotifications)) this.#changed(each);
  }

  /** Notifies once of changes that come together, and ever less often of those that do not end. */
  #changed(method: string): void {
    this.#due.add(method);
    if (this.#stopTimer !== undefined) return;
    const { clock } = this.#options.services;
    const isQuiet = clock.monotonic() - this.#notifiedAt > MAX_DEBOUNCE_MS;
    this.#debounceMs = isQuiet
      ? DEBOUNCE_MS
      : Math.min(2 * this.#debounceMs, MAX_DEBOUNCE_MS);
    this.#stopTimer = clock.setTimer(() => {
      this.#stopTimer = undefined;
      this.#notifiedAt = clock.monotonic();
      for (const each of this.#due) this.#options.notify(each, {});
      this.#due.clear();
    }, this.#debounceMs);
  }
}

const isBack = new Error("The server is back");
const hasLeft = new Error("The client does not listen any more");

function filterOf(
  { about: { capabilities } }: ServerConnection,
  resourceUris: readonly string[],
  taskIds: readonly string[],
): ListenFilter {
  return {
    toolsListChanged: capabilities["tools"] !== undefined,
    promptsListChanged: capabilities["prompts"] !== undefined,
    resourcesListChanged: capabilities["resources"] !== undefined,
    resourceUris,
    taskIds,
  };
}

/** Names the server of a message of the log, where a client has several. */
function loggerOf(
  server: string,
  prefix: string,
  logger: unknown,
): unknown {
  if (prefix === "") return logger;
  return typeof logger === "string" ? `${server}: ${logger}` : server;
}

async function subscribe(
  connection: ServerConnection,
  uris: readonly string[],
  cancellation: Cancellation,
): Promise<void> {
  for (const uri of uris) {
    const side = ownSide(cancellation);
    await connection.request("resources/subscribe", { uri }, side);
  }
}
