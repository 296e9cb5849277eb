import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Place } from "../catalog/server_entries.ts";
import { exposeResult } from "../names/exposed_content.ts";
import type { ParameterHeader } from "../protocol/header_values.ts";
import {
  type DiscoveryRole,
  discoveryRole,
} from "../discovery/discovery_tools.ts";
import { innerCall, type ToolSearch } from "../discovery/tool_search.ts";
import { RPC, RpcFailure } from "../protocol/rpc_messages.ts";
import { listFacts, type ListKind, listKinds } from "../servers/list_items.ts";
import type { McpServer } from "../servers/federated_server.ts";
import type { RequestSide } from "../servers/server_connection.ts";
import { ServerFailure } from "../servers/failures/server_failure.ts";
import type { TaskMethods } from "./task_methods.ts";
import type { Client } from "./client.ts";
import { type ConnectTools, elicitation, messageOf } from "./connect_tools.ts";
import { ListCursors } from "./list_cursors.ts";

/** Member of `_meta` with the servers that are missing in a list. */
const UNAVAILABLE = "gateway/unavailableServers";

/** Age of a list that only the configuration changes. */
const STATIC_TTL_MS = 3_600_000;

const kindOfMethod = new Map<string, ListKind>(
  listKinds.map((kind) => [listFacts[kind].method, kind]),
);

/** Result of a call of a tool: `tool_error` is one that models read, `error` one of the protocol or of the server itself. */
export type CallResult = "ok" | "tool_error" | "error";

/**
 * Called when a tool is called; the returned function is called at the end.
 * @param tool Name that clients use; empty for one that the server has not listed.
 */
export type ObserveCall = (
  server: string,
  tool: string,
) => (result: CallResult) => void;

/** Dependencies of the methods. */
export interface MethodsOptions {
  readonly catalog: Catalog;
  readonly cursors: ListCursors;
  /** Tools with which users log in at servers. */
  readonly connects: ConnectTools;
  readonly tasks: TaskMethods;
  /** Of an endpoint that does not list all tools. */
  readonly search?: ToolSearch | undefined;
  readonly observe: ObserveCall;
}

/** The requests of clients that servers handle, the same for both eras. */
export class Methods {
  readonly #catalog: Catalog;
  readonly #cursors: ListCursors;
  readonly #connects: ConnectTools;
  readonly #tasks: TaskMethods;
  readonly #search: ToolSearch | undefined;
  readonly #observe: ObserveCall;

  constructor(
    { catalog, cursors, connects, tasks, search, observe }: MethodsOptions,
  ) {
    this.#connects = connects;
    this.#catalog = catalog;
    this.#cursors = cursors;
    this.#tasks = tasks;
    this.#search = search;
    this.#observe = observe;
  }

  /**
   * Handles a request.
   * @throws {RpcFailure}
   */
  async handle(
    client: Client,
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    const kind = kindOfMethod.get(method);
    if (kind !== undefined) return await this.#list(client, kind, params);
    if (this.#tasks.handles(client, method)) {
      const place = this.#tasks.find(client, params);
      const own = { ...params, taskId: place.key };
      return await this.#send(client, place, method, own, side);
    }
    switch (method) {
      case "tools/call":
        return await this.#callTool(client, params, side);
      case "prompts/get": {
        const name = textOf(params, "name");
        const place = await this.#catalog.findName("prompts", name, client);
        if (place === undefined) throw unknown("prompt", name);
        const own = { ...params, name: place.key };
        return await this.#send(client, place, method, own, side);
      }
      case "resources/read":
      case "resources/subscribe":
      case "resources/unsubscribe": {
        const place = await this.findResource(client, textOf(params, "uri"));
        const own = { ...params, uri: place.key };
        return await this.#send(client, place, method, own, side);
      }
      case "completion/complete":
        return await this.#complete(client, params, side);
      case "tasks/list":
        if (client.era === "legacy") {
          return await this.#tasks.list(client, side);
        }
        break;
    }
    throw new RpcFailure(RPC.METHOD_NOT_FOUND, "Method not found");
  }

  /**
   * Returns the place of a tool if a call of it can go to its server as it is: its name says all, the server is well, and
   * the tool does not have to run as a task.
   */
  ordinaryPlace(name: string): Place | undefined {
    if (this.#roleOf(name) !== undefined || this.#connects.has(name)) {
      return undefined;
    }
    const place = this.#catalog.placeInName(name);
    const isOrdinary = place !== undefined &&
      place.server.health.failure === undefined &&
      !this.#tasks.mayRequireTask(place);
    return isOrdinary ? place : undefined;
  }

  /** As `ObserveCall`, for a call of a tool under the name that clients use. */
  observe(name: string, place: Place): ReturnType<ObserveCall> {
    const isKnown = this.#catalog.knowsTool(place, name);
    return this.#observe(place.server.name, isKnown ? name : "");
  }

  /** Returns the arguments of a tool that clients repeat in headers; none for a tool that does not exist, or whose server fails. */
  async parameterHeaders(
    name: string,
    client: Client,
  ): Promise<readonly ParameterHeader[]> {
    if (this.#roleOf(name) !== undefined) return [];
    try {
      return await this.#catalog.parameterHeaders(name, client);
    } catch (error) {
      // The call itself reports the failure.
      if (error instanceof ServerFailure) return [];
      throw error;
    }
  }

  /** Finds a resource. @throws {RpcFailure} When there is none. */
  async findResource(client: Client, uri: string): Promise<Place> {
    const place = await this.#catalog.resources.find(uri, client);
    if (place !== undefined) return place;
    const code = client.era === "modern"
      ? RPC.INVALID_PARAMS
      : RPC.RESOURCE_NOT_FOUND;
    throw new RpcFailure(code, "Resource not found", { uri });
  }

  async #list(
    client: Client,
    kind: ListKind,
    { cursor }: JsonObject,
  ): Promise<JsonObject> {
    const search = kind === "tools" ? this.#search : undefined;
    const { items, failures, ttlMs } = search?.hasPinned === false
      ? { items: [], failures: [], ttlMs: STATIC_TTL_MS }
      : await this.#catalog.list(kind, client);
    const listed = [
      ...search?.shown(items) ?? items,
      ...kind === "tools" ? this.#connects.missing(failures) : [],
    ];
    const page = this.#cursors.page(`${client.user}\n${kind}`, listed, cursor);
    return {
      [kind]: page.items,
      ...(page.nextCursor !== undefined && { nextCursor: page.nextCursor }),
      ttlMs,
      // Rules of routes hide items from some users.
      cacheScope: "private",
      ...unavailable(failures),
    };
  }

  #roleOf(name: string): DiscoveryRole | undefined {
    return this.#search === undefined ? undefined : discoveryRole(name);
  }

  /** Handles a call of one of the gateway's own tools. Wrong arguments are results, which models can read. */
  async #discover(
    search: ToolSearch,
    role: "search" | "describe",
    client: Client,
    args: unknown,
    { sees }: RequestSide,
  ): Promise<JsonObject> {
    try {
      const list = await this.#catalog.list("tools", client);
      const tools = list.items.map((item, index) => ({
        item,
        server: list.servers[index] ?? "",
      })).filter(({ item }) =>
        this.#roleOf(String(item["name"])) === undefined
      );
      const result = await search[role](tools, args, sees);
      return { ...result, ...unavailable(list.failures) };
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      return toolError(error.message);
    }
  }

  async #callTool(
    client: Client,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    const search = this.#search;
    const role = this.#roleOf(textOf(params, "name"));
    if (search !== undefined && (role === "search" || role === "describe")) {
      return await this.#discover(
        search,
        role,
        client,
        params["arguments"],
        side,
      );
    }
    const call = role === "call" ? innerCall(params) : params;
    const name = textOf(call, "name");
    try {
      const connected = await this.#connects.call(client, name);
      if (connected !== undefined) return connected;
      const place = await this.#catalog.findName("tools", name, client);
      if (place === undefined) throw unknown("tool", name);
      return await this.#observed(
        name,
        place,
        side.begun?.end,
        () =>
          this.#converse(client, place, "tools/call", {
            ...call,
            name: place.key,
          }, side),
      );
    } catch (error) {
      if (!(error instanceof ServerFailure)) throw error;
      const asked = elicitation(client, error);
      if (asked !== undefined) throw asked;
      // Models can read it, and go on without the tool.
      return toolError(messageOf(error));
    }
  }

  async #observed(
    name: string,
    place: Place,
    begun: ReturnType<ObserveCall> | undefined,
    call: () => Promise<JsonObject>,
  ): Promise<JsonObject> {
    const end = begun ?? this.observe(name, place);
    try {
      const result = await call();
      end(result["isError"] === true ? "tool_error" : "ok");
      return result;
    } catch (error) {
      end("error");
      throw error;
    }
  }

  async #complete(
    client: Client,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    const { ref } = params;
    if (!isJsonObject(ref)) throw invalid("ref");
    const isPrompt = ref["type"] === "ref/prompt";
    const member = isPrompt ? "name" : "uri";
    const key = textOf(ref, member);
    const place = isPrompt
      ? await this.#catalog.findName("prompts", key, client)
      : await this.#catalog.resources.findTemplate(key, client);
    if (place === undefined) throw unknown(isPrompt ? "prompt" : "URI", key);
    const own = { ...params, ref: { ...ref, [member]: place.key } };
    return await this.#send(client, place, "completion/complete", own, side);
  }

  async #send(
    client: Client,
    place: Place,
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    try {
      return await this.#converse(client, place, method, params, side);
    } catch (error) {
      if (!(error instanceof ServerFailure)) throw error;
      throw elicitation(client, error) ??
        new RpcFailure(RPC.INTERNAL_ERROR, messageOf(error));
    }
  }

  async #converse(
    client: Client,
    place: Place,
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    const { server } = place;
    assertUp(server);
    const own = this.#tasks.exposeNews(client, place, side);
    try {
      const result = await client.converse(
        server,
        (connection) =>
          method === "tools/call"
            ? this.#tasks.call(client, place, connection, params, own)
            : this.#tasks.send(client, connection, method, params, own),
      );
      return this.#tasks.exposeResult(
        client,
        place,
        method,
        exposeResult(method, server.settings.prefix, result),
      );
    } catch (error) {
      throw server.noteFailure(error);
    }
  }
}

function toolError(text: string): JsonObject {
  return { content: [{ type: "text", text }], isError: true };
}

/** Names the servers that are missing in a list. */
function unavailable(failures: readonly ServerFailure[]): JsonObject {
  if (failures.length === 0) return {};
  const servers = failures.map(({ server, problem }) => ({
    name: server,
    reason: problem,
  }));
  return { _meta: { [UNAVAILABLE]: servers } };
}

/** A server that is known to be gone must not keep the client waiting. */
function assertUp({ health }: McpServer): void {
  const { failure } = health;
  if (failure?.isDown === true) throw failure;
}

function textOf(params: JsonObject, name: string): string {
  const value = params[name];
  if (typeof value !== "string") throw invalid(name);
  return value;
}

function invalid(name: string): RpcFailure {
  return new RpcFailure(
    RPC.INVALID_PARAMS,
    `Invalid params: "${name}" is missing or no valid value`,
  );
}

function unknown(what: string, name: string): RpcFailure {
  return new RpcFailure(RPC.INVALID_PARAMS, `Unknown ${what}: ${name}`);
}
