import type { JsonObject } from "../../base/json.ts";
import type { Place } from "../catalog/server_entries.ts";
import { exposeResult } from "../names/exposed_content.ts";
import { RPC, RpcFailure } from "../protocol/rpc_messages.ts";
import { ServerFailure } from "../servers/failures/server_failure.ts";
import type { McpServer } from "../servers/federated_server.ts";
import type { RequestSide } from "../servers/server_connection.ts";
import type { Client } from "./client.ts";
import { elicitation, messageOf } from "./connect_tools.ts";
import type { TaskMethods } from "./task_methods.ts";

/** Sends requests of clients to the servers that have what they are about. */
export class RequestSender {
  readonly #tasks: TaskMethods;

  constructor(tasks: TaskMethods) {
    this.#tasks = tasks;
  }

  /** Sends a request; a failure of the server is an error of the protocol. @throws {RpcFailure} */
  async send(
    client: Client,
    place: Place,
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    try {
      return await this.converse(client, place, method, params, side);
    } catch (error) {
      if (!(error instanceof ServerFailure)) throw error;
      throw elicitation(client, error) ??
        new RpcFailure(RPC.INTERNAL_ERROR, messageOf(error));
    }
  }

  /** Sends a request. @throws {RpcFailure | ServerFailure} */
  async converse(
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

/** A server that is known to be gone must not keep the client waiting. */
function assertUp({ health }: McpServer): void {
  const { failure } = health;
  if (failure?.isDown === true) throw failure;
}

/** Returns a string parameter. @throws {RpcFailure} */
export function textOf(params: JsonObject, name: string): string {
  const value = params[name];
  if (typeof value !== "string") throw invalid(name);
  return value;
}

/** Creates the error of a parameter. */
export function invalid(name: string): RpcFailure {
  return new RpcFailure(
    RPC.INVALID_PARAMS,
    `Invalid params: "${name}" is missing or no valid value`,
  );
}

/** Creates the error of a name that no server has. */
export function unknown(what: string, name: string): RpcFailure {
  return new RpcFailure(RPC.INVALID_PARAMS, `Unknown ${what}: ${name}`);
}
