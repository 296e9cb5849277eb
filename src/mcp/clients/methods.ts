import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { Place } from "../catalog/server_entries.ts";
import { RPC, RpcFailure } from "../protocol/rpc_messages.ts";
import { kindOfMethod, type ListKind } from "../servers/lists/list_items.ts";
import type { RequestSide } from "../servers/server_connection.ts";
import type { Client } from "./client.ts";
import { invalid, RequestSender, textOf, unknown } from "./request_sender.ts";
import { ToolCalls, type ToolCallsOptions, unavailable } from "./tool_calls.ts";
import { listResult } from "./kept_lists.ts";
import type { ListCursors } from "./list_cursors.ts";

/** Age of a list that only the configuration changes. */
const STATIC_TTL_MS = 3_600_000;

/** Dependencies of the methods. */
export interface MethodsOptions extends ToolCallsOptions {
  readonly cursors: ListCursors;
}

/** The requests of clients that servers handle, the same for both eras. */
export class Methods {
  readonly tools: ToolCalls;
  readonly #options: MethodsOptions;
  readonly #sender: RequestSender;

  constructor(options: MethodsOptions) {
    this.#options = options;
    this.#sender = new RequestSender(options.tasks);
    this.tools = new ToolCalls(options, this.#sender);
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
    if (this.#options.tasks.handles(client, method)) {
      const place = this.#options.tasks.find(client, params);
      const own = { ...params, taskId: place.key };
      return await this.#sender.send(client, place, method, own, side);
    }
    switch (method) {
      case "tools/call":
        return await this.tools.call(client, params, side);
      case "prompts/get": {
        const name = textOf(params, "name");
        const place = await this.#options.catalog.findName(
          "prompts",
          name,
          client,
        );
        if (place === undefined) throw unknown("prompt", name);
        const own = { ...params, name: place.key };
        return await this.#sender.send(client, place, method, own, side);
      }
      case "resources/read":
      case "resources/subscribe":
      case "resources/unsubscribe": {
        const place = await this.findResource(client, textOf(params, "uri"));
        const own = { ...params, uri: place.key };
        return await this.#sender.send(client, place, method, own, side);
      }
      case "completion/complete":
        return await this.#complete(client, params, side);
      case "tasks/list":
        if (client.era === "legacy") {
          return await this.#options.tasks.list(client, side);
        }
        break;
    }
    throw new RpcFailure(RPC.METHOD_NOT_FOUND, "Method not found");
  }

  /** Finds a resource. @throws {RpcFailure} When there is none. */
  async findResource(client: Client, uri: string): Promise<Place> {
    const place = await this.#options.catalog.resources.find(uri, client);
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
    const search = kind === "tools" ? this.#options.search : undefined;
    const { items, failures, ttlMs } = search?.hasPinned === false
      ? { items: [], failures: [], ttlMs: STATIC_TTL_MS }
      : await this.#options.catalog.list(kind, client);
    const listed = [
      ...search?.shown(items) ?? items,
      ...kind === "tools" ? this.#options.connects.missing(failures) : [],
    ];
    const page = this.#options.cursors.page(
      `${client.user}\n${kind}`,
      listed,
      cursor,
    );
    return {
      ...listResult(kind, page.items, ttlMs),
      ...(page.nextCursor !== undefined && { nextCursor: page.nextCursor }),
      ...unavailable(failures),
    };
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
      ? await this.#options.catalog.findName("prompts", key, client)
      : await this.#options.catalog.resources.findTemplate(key, client);
    if (place === undefined) throw unknown(isPrompt ? "prompt" : "URI", key);
    const own = { ...params, ref: { ...ref, [member]: place.key } };
    return await this.#sender.send(
      client,
      place,
      "completion/complete",
      own,
      side,
    );
  }
}
