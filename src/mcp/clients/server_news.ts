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
  readonly #due = new Set<string>();
  readonly #unwatch: () => void;
  #stopTimer: (() => void) | undefined;

  constructor(options: NewsOptions) {
    this.#options = options;
    const { changes, servers } = options.services;
    this.#unwatch = changes.watch(() => {
      for (const method of Object.values(listNotifications)) {
        this.#changed(method);
      }
    });
    for (const each of servers) void this.#follow(each);
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
      await this.#listenOnce(each, restart);
      // A server without a stream ends it at once, each time.
      const isLong = clock.monotonic() - startedAt > MAX_PAUSE_MS;
      pauseMs = isLong || restart.cancelled
        ? MIN_PAUSE_MS
        : Math.min(pauseMs * 2, MAX_PAUSE_MS);
      // A restart does not wait for the end of the pause.
      if (!restart.cancelled) {
        await sleep(clock, pauseMs, restart).catch(() => {});
      }
      unsubscribe();
    }
  }

  async #listenOnce(each: CatalogServer, restart: Cancellation): Promise<void> {
    try {
      await this.#listen(each, restart);
    } catch (error) {
      if (restart.cancelled) return;
      const { log } = this.#options.services;
      const { name: server } = each.server;
      log.debug("An MCP server ended its stream", { server, error });
    }
  }

  async #listen(
    { server, lists }: CatalogServer,
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
        notify: (method, params) => {
          if (method.endsWith("/list_changed")) lists.invalidate();
          this.#pass(server, method, params);
        },
      });
    } finally {
      if (closesConnections) connection.close().catch(() => {});
    }
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

  /** Notifies once of changes that come together. */
  #changed(method: string): void {
    this.#due.add(method);
    this.#stopTimer ??= this.#options.services.clock.setTimer(() => {
      this.#stopTimer = undefined;
      for (const each of this.#due) this.#options.notify(each, {});
      this.#due.clear();
    }, DEBOUNCE_MS);
  }
}

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
