import type { Clock } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { BytesBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { RPC, RpcFailure } from "../protocol/rpc_messages.ts";
import type { SendHttp } from "../servers/http/http_transport.ts";
import type { McpServerSettings } from "../servers/mcp_settings.ts";
import { MessageLimit } from "../servers/failures/message_limit.ts";
import type {
  Listener,
  ListenFilter,
  RequestSide,
  ServerAbout,
  ServerConnection,
} from "../servers/server_connection.ts";
import { ServerFailure } from "../servers/failures/server_failure.ts";
import {
  argumentsOf,
  createRestRequest,
  type RestRequest,
} from "./calls/rest_request.ts";
import { readResponse } from "./calls/rest_response.ts";
import { errorResult, resultOf } from "./calls/tool_result.ts";
import { ArgumentError } from "./calls/value_styles.ts";
import type {
  ConvertedDocument,
  RestApi,
  RestTool,
} from "./document/rest_tool.ts";

/** Dependencies of a conversation with a REST API. */
export interface OpenApiConnectionOptions {
  readonly settings: McpServerSettings;
  readonly api: RestApi;
  readonly send: SendHttp;
  readonly clock: Clock;
  /** Watches for another document; the returned function ends the watch. */
  onChange(watcher: () => void): () => void;
}

/** A list is valid as long as the document is not read again. */
const LIST_TTL_MS = 3_600_000;
const MAX_TITLE = 256;

/** The tools of a REST API, as a conversation with an MCP server. */
export class OpenApiConnection implements ServerConnection {
  readonly about: ServerAbout;
  readonly view: string;
  readonly isShareable = true;
  readonly session = undefined;
  readonly #options: OpenApiConnectionOptions;
  readonly #tools: ReadonlyMap<string, RestTool>;

  /** @param view Names the document. */
  constructor(
    { title, description, tools }: ConvertedDocument,
    view: string,
    options: OpenApiConnectionOptions,
  ) {
    const instructions = [title.slice(0, MAX_TITLE), description]
      .filter((text) => text !== "").join("\n\n");
    this.about = {
      era: "modern",
      capabilities: { tools: {} },
      instructions: instructions === "" ? undefined : instructions,
    };
    this.view = view;
    this.#tools = new Map(tools.map((tool) => [tool.definition.name, tool]));
    this.#options = options;
  }

  async request(
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    switch (method) {
      case "tools/list":
        return {
          tools: [...this.#tools.values()].map(({ definition }) => definition),
          ttlMs: LIST_TTL_MS,
          cacheScope: "public",
        };
      case "tools/call":
        return await this.#call(params, side);
      default:
        throw new RpcFailure(RPC.METHOD_NOT_FOUND, "Method not found");
    }
  }

  notify(): Promise<void> {
    return Promise.resolve();
  }

  async listen(
    { toolsListChanged }: ListenFilter,
    { cancellation, notify, onOpen }: Listener,
  ): Promise<void> {
    onOpen?.();
    if (!toolsListChanged) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = this.#options.onChange(() => {
      notify("notifications/tools/list_changed", {});
      resolve();
    });
    const unsubscribe = cancellation.onCancel(() => resolve());
    await promise.finally(() => {
      stop();
      unsubscribe();
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #call(params: JsonObject, side: RequestSide): Promise<JsonObject> {
    const { name } = params;
    const tool = typeof name === "string" ? this.#tools.get(name) : undefined;
    if (tool === undefined) {
      throw new RpcFailure(RPC.INVALID_PARAMS, `Unknown tool: ${String(name)}`);
    }
    const { api: { basePath, credential } } = this.#options;
    try {
      const request = createRestRequest(
        tool.call,
        argumentsOf(params),
        basePath,
        credential,
        () => `part-${crypto.randomUUID()}`,
      );
      const response = await this.#exchange(String(name), request, side);
      return resultOf(tool.call, response);
    } catch (error) {
      if (!(error instanceof ArgumentError)) throw error;
      return errorResult(error.message);
    }
  }

  async #exchange(tool: string, request: RestRequest, side: RequestSide) {
    const { settings: { name, timeouts }, clock } = this.#options;
    const limit = new MessageLimit(
      side.cancellation,
      clock,
      timeouts.callMs,
      () => new ServerFailure(name, "timeout", "did not respond in time"),
    );
    const { cancellation } = limit;
    let response: ResponseMessage | undefined;
    const unsubscribe = cancellation.onCancel((reason) =>
      response?.body?.cancel(reason)
    );
    try {
      response = await this.#send(tool, request, side, limit);
      return await readResponse(response, () => limit.restart());
    } catch (error) {
      if (cancellation.cancelled) throw cancellation.reason;
      if (!(error instanceof GatewayError)) throw error;
      // The API is not the server: only its calls fail.
      throw new ServerFailure(name, "failed", "cannot reach its API", {
        cause: error,
      });
    } finally {
      unsubscribe();
      limit.end();
    }
  }

  async #send(
    tool: string,
    { method, target, headers, body }: RestRequest,
    { owners, meta }: RequestSide,
    { cancellation }: MessageLimit,
  ): Promise<ResponseMessage> {
    const { api, send } = this.#options;
    const list = HeaderList.from([
      ["accept-encoding", "identity"],
      ...headers,
      ...tracesOf(meta),
    ]);
    for (const [name, value] of api.headers) list.set(name, value);
    return await send(
      {
        method,
        target,
        authority: api.authority,
        headers: list,
        upgrade: undefined,
        expectsContinue: false,
        sendInformational: () => {},
        owners,
      },
      body === undefined ? undefined : new BytesBody(body),
      cancellation,
      { tool },
    );
  }
}

/** Returns the trace of a request, in the header fields where APIs find it. */
function tracesOf(
  meta: JsonObject,
): readonly (readonly [name: string, value: string])[] {
  return ["traceparent", "tracestate"].flatMap((name) => {
    const value = meta[name];
    return typeof value === "string" && /^[\x21-\x7e ]{1,512}$/.test(value)
      ? [[name, value] as const]
      : [];
  });
}
