import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { JsonRpcId } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ByteSpan } from "../protocol/raw_messages.ts";
import { RPC, RpcFailure, type RpcMessage } from "../protocol/rpc_messages.ts";
import { type Era, isAtLeast } from "../protocol/revisions.ts";

import type { BegunCall } from "./begun_call.ts";
import type { McpServerSettings } from "./mcp_settings.ts";
import type { RequestSender } from "./server_links.ts";

/** Declarations of a server. */
export interface ServerAbout {
  readonly era: Era;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
}

/** Requests of a server to a client, by key, such as `{"a": {"method": "roots/list"}}`. */
export type InputRequests = Readonly<Record<string, InputRequest>>;

/** A request of a server to a client, without an id of its own. */
export interface InputRequest {
  readonly method: string;
  readonly params?: JsonObject;
}

/** Reports for each tool whether the rules of the route let the client see it. @param names As clients know them. */
export type SeesTools = (
  names: readonly string[],
) => Promise<readonly boolean[]>;

/** A call of a tool whose parts are written already. */
export interface RawCall {
  /** Name of the tool at the server: letters, digits, `_` and `-`. */
  readonly tool: string;
  /** JSON of the arguments; `undefined` without. */
  readonly args: ByteSpan | undefined;
  /** Members of `_meta` that are meant for the server, and the level of log messages. */
  readonly meta: JsonObject;
  readonly owners: readonly string[];
  readonly beganAt: BegunCall["beganAt"];
  readonly end: BegunCall["end"];
}

/** The client side of a request to a server. */
export interface RequestSide extends RequestSender {
  /** The request, if it has been sent already; for the connection that has begun it. */
  readonly begun?: BegunCall | undefined;
  /** `undefined` if the client may see all tools. */
  readonly sees: SeesTools | undefined;
  /** The client does not want the result any more. */
  readonly cancellation: Cancellation;
  /** `undefined` when the client does not want reports of progress. */
  readonly progressToken: JsonRpcId | undefined;
  /** `undefined` when the client does not want messages of the log. */
  readonly logLevel: string | undefined;
  /** Members of `_meta` that are meant for the server. */
  readonly meta: JsonObject;
  /** True if the client handles `input_required` itself; otherwise `ask` asks it. */
  readonly takesInputRequired: boolean;
  /** Passes a notification of the server to the client. */
  notify(method: string, params: JsonObject): void;
  /**
   * Asks the client, and returns its results by key.
   * @throws {RpcFailure} When the client cannot be asked, or answers with an error.
   */
  ask(requests: InputRequests): Promise<Readonly<Record<string, JsonObject>>>;
}

/** Returns the side of a request of the gateway's own: there is nobody to notify or to ask. */
export function ownSide(cancellation: Cancellation): RequestSide {
  return {
    owners: [],
    sees: undefined,
    client: cancellation,
    cancellation,
    progressToken: undefined,
    logLevel: undefined,
    meta: {},
    takesInputRequired: false,
    notify: () => {},
    ask: () => {
      const message = "Nobody can be asked here";
      throw new RpcFailure(RPC.METHOD_NOT_FOUND, message);
    },
  };
}

/** Notifications of a server that a client wants outside of requests. */
export interface ListenFilter {
  readonly toolsListChanged: boolean;
  readonly promptsListChanged: boolean;
  readonly resourcesListChanged: boolean;
  /** As the server knows them. */
  readonly resourceUris: readonly string[];
  /** As the server knows them. */
  readonly taskIds: readonly string[];
}

/** Receives what a server sends outside of requests. */
export interface Listener {
  readonly cancellation: Cancellation;
  /** Called once the server sends what happens from now on, or never will; maybe more than once. */
  onOpen?(): void;
  notify(method: string, params: JsonObject): void;
  /** As in `RequestSide`. */
  ask(requests: InputRequests): Promise<Readonly<Record<string, JsonObject>>>;
}

/** A session at a server of the legacy era. */
export interface ServerSession {
  readonly id: string;
  readonly revision: string;
}

/** A conversation with a server on behalf of one client, or of clients that can do the same. */
export interface ServerConnection {
  readonly about: ServerAbout;
  /** Equal for conversations in which the server has the same lists. */
  readonly view: string;
  /** True if calls of several clients may go over the conversation: none of them notices the others. */
  readonly isShareable: boolean;
  /** Session at the server, with which the conversation can be resumed; `undefined` if it has none. */
  readonly session: ServerSession | undefined;
  /**
   * Sends a request; returns the result, for servers of both eras without `resultType` unless it is `input_required`.
   * @throws {RpcFailure} When the server answers with an error.
   * @throws {ServerFailure}
   */
  request(
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject>;
  /**
   * Sends a call whose answer is up to the caller, or to `request` with the call as `begun`. Absent, or `undefined`, where messages
   * share a stream.
   */
  begin?(call: RawCall): BegunCall | undefined;
  /** Sends a notification; failures do not matter to the client. */
  notify(method: string, params: JsonObject): Promise<void>;
  /** Receives what the server sends by itself, until that ends; returns at once if it sends nothing. */
  listen(filter: ListenFilter, listener: Listener): Promise<void>;
  /** Ends the conversation, also at the server. */
  close(): Promise<void>;
}

/** Reports whether a server says with a message that its lists have changed. */
export function isListChange(message: RpcMessage): boolean {
  return message.kind === "notification" &&
    message.method.endsWith("/list_changed");
}

/**
 * Passes a notification that belongs to a request, if the client wants it.
 * @param token The token of progress that the server knows.
 */
export function passNotification(
  { method, params }: Extract<RpcMessage, { kind: "notification" }>,
  token: number,
  { notify, progressToken, logLevel }: RequestSide,
): void {
  if (method === "notifications/progress") {
    if (progressToken === undefined || params["progressToken"] !== token) {
      return;
    }
    notify(method, { ...params, progressToken });
  } else if (method === "notifications/message") {
    if (logLevel !== undefined && isAtLeast(params["level"], logLevel)) {
      notify(method, params);
    }
  } else {
    notify(method, params);
  }
}

/** Dependencies of a conversation with a server. */
export interface ConnectionOptions {
  readonly settings: McpServerSettings;
  readonly clock: Clock;
  /** Capabilities of the client that the server is to know. */
  readonly capabilities: JsonObject;
  /** Cancelled when the gateway does not need the server any more. */
  readonly closing: Cancellation;
}
