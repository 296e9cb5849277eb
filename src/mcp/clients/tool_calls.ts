import { type JsonObject } from "../../base/json.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Place } from "../catalog/server_entries.ts";
import {
  type DiscoveryRole,
  discoveryRole,
} from "../discovery/discovery_tools.ts";
import { innerCall, type ToolSearch } from "../discovery/tool_search.ts";
import type { ParameterHeader } from "../protocol/header_values.ts";
import { RpcFailure } from "../protocol/rpc_messages.ts";
import { ServerFailure } from "../servers/failures/server_failure.ts";
import type { RequestSide } from "../servers/server_connection.ts";
import type { Client } from "./client.ts";
import { type ConnectTools, elicitation, messageOf } from "./connect_tools.ts";
import { type RequestSender, textOf, unknown } from "./request_sender.ts";
import type { TaskMethods } from "./task_methods.ts";

/** Member of `_meta` with the servers that are missing in a list. */
const UNAVAILABLE = "gateway/unavailableServers";

/** Result of a call of a tool: `tool_error` is one that models read, `error` one of the protocol or of the server itself. */
export type CallResult = "ok" | "tool_error" | "error";

/**
 * Called when a tool is called; the returned function is called at the end.
 * @param tool Name that clients use; empty for one that the server has not listed.
 * @param beganAt Monotonic time in milliseconds, if it has been read.
 */
export type ObserveCall = (
  server: string,
  tool: string,
  beganAt?: number,
) => (result: CallResult) => void;

/** Dependencies of calls. */
export interface ToolCallsOptions {
  readonly catalog: Catalog;
  /** Tools with which users log in at servers. */
  readonly connects: ConnectTools;
  readonly tasks: TaskMethods;
  /** Of an endpoint that does not list all tools. */
  readonly search?: ToolSearch | undefined;
  readonly observe: ObserveCall;
}

/** Calls of tools: those of servers, and the gateway's own for discovery and logins. */
export class ToolCalls {
  readonly #catalog: Catalog;
  readonly #connects: ConnectTools;
  readonly #tasks: TaskMethods;
  readonly #search: ToolSearch | undefined;
  readonly #observe: ObserveCall;
  readonly #sender: RequestSender;

  constructor(
    { catalog, connects, tasks, search, observe }: ToolCallsOptions,
    sender: RequestSender,
  ) {
    this.#catalog = catalog;
    this.#connects = connects;
    this.#tasks = tasks;
    this.#search = search;
    this.#observe = observe;
    this.#sender = sender;
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
      !this.#tasks.requiresTask(place);
    return isOrdinary ? place : undefined;
  }

  /** As `ObserveCall`, for a call of a tool under the name that clients use. */
  observe(
    name: string,
    place: Place,
    beganAt?: number,
  ): ReturnType<ObserveCall> {
    const isKnown = this.#catalog.knowsTool(place, name);
    return this.#observe(place.server.name, isKnown ? name : "", beganAt);
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

  /** Calls a tool. @throws {RpcFailure} */
  async call(
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
          this.#sender.converse(client, place, "tools/call", {
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
}

function toolError(text: string): JsonObject {
  return { content: [{ type: "text", text }], isError: true };
}

/** Names the servers that are missing in a list. */
export function unavailable(failures: readonly ServerFailure[]): JsonObject {
  if (failures.length === 0) return {};
  const servers = failures.map(({ server, problem }) => ({
    name: server,
    reason: problem,
  }));
  return { _meta: { [UNAVAILABLE]: servers } };
}
