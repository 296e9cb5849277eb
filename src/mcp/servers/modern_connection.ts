import { utf8 } from "../../base/bytes.ts";
import { Cancellation } from "../../base/cancellation.ts";
import { KeptValues } from "../../base/kept_values.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { callWriter, type WriteCall } from "../protocol/raw_messages.ts";
import { RpcFailure, type RpcMessage } from "../protocol/rpc_messages.ts";
import {
  gatewayInfo,
  META,
  metaOf,
  MODERN_REVISION,
  TASKS_EXTENSION,
  withMeta,
} from "../protocol/revisions.ts";
import { finishModernTask, needsTasks, takesTasks } from "./awaited_tasks.ts";
import { BegunCall } from "./begun_call.ts";
import type { ModernLink, SendCall } from "./server_links.ts";
import { MessageLimit } from "./failures/message_limit.ts";
import {
  type ConnectionOptions,
  type InputRequest,
  type InputRequests,
  type Listener,
  type ListenFilter,
  passNotification,
  type RawCall,
  type RequestSide,
  type ServerAbout,
  type ServerConnection,
} from "./server_connection.ts";
import { ServerFailure } from "./failures/server_failure.ts";

/** Rounds of questions to a client for one request, and questions of a round. */
const MAX_ROUNDS = 8;
const MAX_INPUTS = 32;

/** Tools whose calls are prepared. */
const MAX_PREPARED_CALLS = 256;

/** Calls of one tool. */
interface PreparedCall {
  readonly write: WriteCall;
  readonly send: SendCall | undefined;
}

/** Options of requests to a server without sessions. */
export interface ModernOptions extends ConnectionOptions {
  readonly about: ServerAbout;
}

let lastId = 0;

/** Requests to a server of MCP 2026-07-28, each of which stands for itself. */
export class ModernConnection implements ServerConnection {
  readonly about: ServerAbout;
  readonly view: string;
  readonly isShareable = true;
  readonly session = undefined;
  readonly #options: ModernOptions;
  readonly #link: ModernLink;
  /** JSON of the `_meta` of requests, by what comes from the client: that is the same for many. */
  readonly #metas = new WeakMap<JsonObject, Uint8Array>();

  readonly #calls: KeptValues<string, PreparedCall>;

  constructor(link: ModernLink, options: ModernOptions) {
    this.#link = link;
    this.#calls = new KeptValues(MAX_PREPARED_CALLS, (tool) => ({
      write: callWriter(tool),
      send: link.callOf?.(tool),
    }));
    this.#options = options;
    this.about = options.about;
    this.view = JSON.stringify(options.capabilities);
  }

  async request(
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    const { capabilities, clock } = this.#options;
    try {
      return await this.#request(method, params, side, capabilities);
    } catch (error) {
      if (!needsTasks(error) || takesTasks(capabilities)) throw error;
      const withTasks = {
        ...capabilities,
        extensions: { [TASKS_EXTENSION]: {} },
      };
      const send: typeof this.request = (method, params, side) =>
        this.#request(method, params, side, withTasks);
      // The server has not run the call.
      const result = await send(method, params, side);
      return result["resultType"] === "task"
        ? await finishModernTask(send, result, side, clock)
        : result;
    }
  }

  async #request(
    method: string,
    params: JsonObject,
    side: RequestSide,
    capabilities: JsonObject,
  ): Promise<JsonObject> {
    let round = params;
    for (let rounds = 0; rounds <= MAX_ROUNDS; rounds++) {
      const result = await this.#send(method, round, side, capabilities);
      if (result["resultType"] === "task") {
        if (takesTasks(capabilities)) return result;
        throw this.#failure("creates a task for a client that takes none");
      }
      if (result["resultType"] !== "input_required") {
        const { resultType: _, ...complete } = result;
        return complete;
      }
      const { requestState } = result;
      const requests = readInputRequests(result["inputRequests"]);
      if (requests === undefined) throw this.#failure("asks for invalid input");
      if (side.takesInputRequired) return result;
      round = {
        ...params,
        inputResponses: await side.ask(requests),
        ...(requestState !== undefined && { requestState }),
      };
    }
    throw this.#failure(`asks for input more than ${MAX_ROUNDS} times`);
  }

  notify(): Promise<void> {
    // Servers of this revision get no notifications over HTTP.
    return Promise.resolve();
  }

  begin(
    { tool, args, meta, owners, beganAt, end }: RawCall,
  ): BegunCall | undefined {
    const { write, send } = this.#calls.get(tool);
    if (send === undefined) return undefined;
    const id = ++lastId;
    const content = write(id, args, this.#metaOf(meta));
    const cancellation = new Cancellation();
    const response = send(content, owners, cancellation);
    return new BegunCall(id, beganAt, end, cancellation, response);
  }

  #metaOf(meta: JsonObject): Uint8Array {
    const { capabilities } = this.#options;
    return this.#metas.getOrInsertComputed(
      meta,
      // A copy: it is kept for long, and would keep a whole pool.
      () =>
        new Uint8Array(utf8(JSON.stringify(envelopeOf(capabilities, meta)))),
    );
  }

  async listen(filter: ListenFilter, listener: Listener): Promise<void> {
    const { resourceUris, taskIds, ...lists } = filter;
    const notifications = {
      ...lists,
      ...(resourceUris.length > 0 && { resourceSubscriptions: resourceUris }),
      ...(taskIds.length > 0 && { taskIds }),
    };
    const messages = this.#link.exchange({
      id: ++lastId,
      method: "subscriptions/listen",
      params: withEnvelope({ notifications }, this.#options.capabilities),
    }, listener.cancellation);
    for await (const message of messages) {
      if (message.kind !== "notification") {
        if (message.kind === "error") throw RpcFailure.of(message.error);
        continue;
      }
      if (message.method === "notifications/subscriptions/acknowledged") {
        listener.onOpen?.();
        continue;
      }
      listener.notify(message.method, withoutSubscription(message.params));
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #send(
    method: string,
    params: JsonObject,
    side: RequestSide,
    capabilities: JsonObject,
  ): Promise<JsonObject> {
    const { settings, clock } = this.#options;
    const begun = side.begun?.take();
    const id = begun?.id ?? ++lastId;
    const limit = new MessageLimit(
      side.cancellation,
      clock,
      settings.timeouts.callMs,
      () =>
        new ServerFailure(settings.name, "timeout", "did not respond in time"),
      begun,
    );
    const { cancellation } = limit;
    const meta = {
      ...side.meta,
      ...(side.logLevel !== undefined && { [META.LOG_LEVEL]: side.logLevel }),
      ...(side.progressToken !== undefined && { progressToken: id }),
    };
    try {
      const messages = this.#link.exchange(
        { id, method, params: withEnvelope(params, capabilities, meta) },
        cancellation,
        side,
        begun?.response,
      );
      for await (const message of messages) {
        limit.restart();
        const result = readReply(message, id, side);
        if (result !== undefined) return result;
      }
    } finally {
      limit.end();
    }
    const problem = "ended the stream without a response";
    throw new ServerFailure(settings.name, "broken", problem);
  }

  #failure(problem: string): ServerFailure {
    return new ServerFailure(this.#options.settings.name, "invalid", problem);
  }
}

/** Returns parameters with what every request of this revision says. @param capabilities Of the client. */
export function withEnvelope(
  params: JsonObject,
  capabilities: JsonObject,
  meta: JsonObject = {},
): JsonObject {
  return withMeta(params, envelopeOf(capabilities, meta));
}

function envelopeOf(capabilities: JsonObject, meta: JsonObject): JsonObject {
  return {
    ...meta,
    [META.VERSION]: MODERN_REVISION,
    [META.CLIENT_INFO]: gatewayInfo,
    [META.CLIENT_CAPABILITIES]: capabilities,
  };
}

/** Returns the result, once it is there. */
function readReply(
  message: RpcMessage,
  id: number,
  side: RequestSide,
): JsonObject | undefined {
  switch (message.kind) {
    case "notification":
      passNotification(message, id, side);
      return undefined;
    case "error":
      throw RpcFailure.of(message.error);
    case "result":
      return message.id === id ? message.result : undefined;
    case "request":
      // This revision has no requests of servers.
      return undefined;
  }
}

/** Reads the requests of `input_required`; `undefined` if they are invalid. Empty is valid: the client only has to call again. */
function readInputRequests(value: unknown): InputRequests | undefined {
  if (value === undefined) return {};
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value);
  const isValid = entries.length <= MAX_INPUTS &&
    entries.every(([, request]) => isInputRequest(request));
  if (!isValid) return undefined;
  return Object.fromEntries(
    entries.flatMap(([key, request]) =>
      isInputRequest(request) ? [[key, request]] : []
    ),
  );
}

const inputMethods: ReadonlySet<unknown> = new Set([
  "elicitation/create",
  "sampling/createMessage",
  "roots/list",
]);

function isInputRequest(value: unknown): value is InputRequest & JsonObject {
  return isJsonObject(value) && inputMethods.has(value["method"]) &&
    (value["params"] === undefined || isJsonObject(value["params"]));
}

function withoutSubscription(params: JsonObject): JsonObject {
  const { [META.SUBSCRIPTION]: _, ...meta } = metaOf(params);
  return withMeta(params, meta);
}
