import type { Clock } from "../../base/clock.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { CatalogServer, Place } from "../catalog/server_entries.ts";
import type { Client } from "./client.ts";
import type { Era } from "../protocol/revisions.ts";
import { RPC, RpcFailure } from "../protocol/rpc_messages.ts";
import type {
  RequestSide,
  ServerAbout,
  ServerConnection,
} from "../servers/server_connection.ts";
import { ServerFailure } from "../servers/failures/server_failure.ts";
import { runLegacyTask } from "../servers/awaited_tasks.ts";
import { isAbout, type TaskIds } from "./task_ids.ts";

/** Methods for one task, and the eras that have them. */
const methods: Readonly<Record<string, readonly Era[]>> = {
  "tasks/get": ["legacy", "modern"],
  "tasks/cancel": ["legacy", "modern"],
  "tasks/result": ["legacy"],
  "tasks/update": ["modern"],
};

/** Tasks that a session can list. */
const MAX_LISTED = 256;
const MAX_PAGES = 20;

/** Tasks of servers: of 2025-11-25 for clients with sessions, and of the extension for 2026-07-28. */
export class TaskMethods {
  readonly #ids: TaskIds;
  readonly #servers: readonly CatalogServer[];
  readonly #clock: Clock;

  constructor(
    ids: TaskIds,
    servers: readonly CatalogServer[],
    clock: Clock,
  ) {
    this.#ids = ids;
    this.#servers = servers;
    this.#clock = clock;
  }

  /** Reports whether a request of a client is about one task. */
  handles({ era }: Client, method: string): boolean {
    return Object.hasOwn(methods, method) &&
      methods[method]?.includes(era) === true;
  }

  /** Finds a task. @throws {RpcFailure} When it is none of this user. */
  find({ user }: Client, { taskId }: JsonObject): Place {
    const place = typeof taskId === "string"
      ? this.#ids.find(user, taskId)
      : undefined;
    const owner = this.#servers.find(({ server }) =>
      server.name === place?.server
    );
    if (place === undefined || owner === undefined) {
      throw new RpcFailure(RPC.INVALID_PARAMS, "Unknown task");
    }
    return { ...owner, key: place.id };
  }

  /**
   * Calls a tool: as a task if the client wants one, or the tool has to.
   * @throws {RpcFailure} For a client that wants a task where there are none.
   */
  async call(
    client: Client,
    place: Place,
    connection: ServerConnection,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    const { task, ...own } = params;
    const hasTasks = runsTasks(connection.about);
    if (client.era === "legacy" && isJsonObject(task)) {
      if (!hasTasks) {
        const message = "The tool does not run as a task";
        throw new RpcFailure(RPC.METHOD_NOT_FOUND, message);
      }
      const result = await connection.request("tools/call", params, side);
      this.#remember(client, place.server.name, result);
      return result;
    }
    return hasTasks && this.requiresTask(place)
      ? await runLegacyTask(
        (...request) => connection.request(...request),
        own,
        side,
        this.#clock,
      )
      : await connection.request("tools/call", own, side);
  }

  /** Reports whether a tool has to run as a task, at a server of 2025-11-25 that runs tools so. */
  requiresTask({ lists, key }: Place): boolean {
    return lists.knownTool(key)?.requiresTask === true;
  }

  /** Sends any other request. @throws {RpcFailure} For a task of a server whose clients see tasks in another form. */
  async send(
    client: Client,
    connection: ServerConnection,
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    const isAboutTask = Object.hasOwn(methods, method);
    if (isAboutTask && connection.about.era !== client.era) {
      const message = "The task is one for clients of another revision";
      throw new RpcFailure(RPC.INVALID_PARAMS, message);
    }
    return await connection.request(method, params, side);
  }

  /**
   * Lists the tasks that the session has begun: a server that knows the gateway only could list those of other users.
   */
  async list(client: Client, side: RequestSide): Promise<JsonObject> {
    const own = client.tasks ?? new Set();
    const places = [...own].flatMap((id) =>
      this.#ids.find(client.user, id) ?? []
    );
    const owners = new Set(places.map(({ server }) => server));
    const lists = await Promise.all(
      this.#servers.filter(({ server }) => owners.has(server.name)).map(
        async ({ server }) => {
          const listed = await client.converse(
            server,
            (connection) => drain(connection, side),
          ).catch(nothingOfFailed);
          return listed.map((task) =>
            this.#ids.expose(client.user, server, task)
          );
        },
      ),
    );
    const tasks = lists.flat().filter(({ taskId }) =>
      typeof taskId === "string" && own.has(taskId)
    );
    return { tasks };
  }

  /** Returns a result with the ids that the client knows. */
  exposeResult(
    { user }: Client,
    { server }: Place,
    method: string,
    result: JsonObject,
  ): JsonObject {
    const isAboutTask = Object.hasOwn(methods, method) ||
      result["task"] !== undefined || result["resultType"] === "task";
    return isAboutTask ? this.#ids.expose(user, server, result) : result;
  }

  /**
   * Returns the side of a request whose client gets notifications with the ids that it knows, and none of other tasks: those that a
   * program sends may be for another client.
   */
  exposeNews({ user, tasks }: Client, { server }: Place, side: RequestSide) {
    return {
      ...side,
      notify: (method: string, params: JsonObject) => {
        if (!method.startsWith("notifications/tasks")) {
          return side.notify(method, params);
        }
        const exposed = this.#ids.expose(user, server, params);
        if (tasks !== undefined && isAbout(tasks, exposed)) {
          side.notify(method, exposed);
        }
      },
    };
  }

  #remember({ user, tasks }: Client, server: string, result: JsonObject): void {
    const { task } = result;
    const id = isJsonObject(task) ? task["taskId"] : undefined;
    if (tasks === undefined || typeof id !== "string") return;
    tasks.add(this.#ids.idFor(user, { server, id }));
    const [oldest] = tasks;
    if (tasks.size > MAX_LISTED && oldest !== undefined) tasks.delete(oldest);
  }
}

/** Reports whether a server runs tools as tasks of 2025-11-25. */
export function runsTasks({ era, capabilities }: ServerAbout): boolean {
  const { tasks } = capabilities;
  const requests = isJsonObject(tasks) ? tasks["requests"] : undefined;
  const tools = isJsonObject(requests) ? requests["tools"] : undefined;
  return era === "legacy" && isJsonObject(tools) && isJsonObject(tools["call"]);
}

async function drain(
  connection: ServerConnection,
  side: RequestSide,
): Promise<readonly JsonObject[]> {
  const { tasks } = connection.about.capabilities;
  if (!isJsonObject(tasks) || tasks["list"] === undefined) return [];
  const found: JsonObject[] = [];
  let params: JsonObject = {};
  for (let page = 0; page < MAX_PAGES; page++) {
    const result = await connection.request("tasks/list", params, side);
    const { tasks: listed, nextCursor: cursor } = result;
    if (Array.isArray(listed)) found.push(...listed.filter(isJsonObject));
    if (typeof cursor !== "string") break;
    params = { cursor };
  }
  return found;
}

/** A server that fails must not hide the tasks of the others. */
function nothingOfFailed(error: unknown): readonly JsonObject[] {
  if (error instanceof ServerFailure || error instanceof RpcFailure) return [];
  throw error;
}
