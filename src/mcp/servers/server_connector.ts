import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Log } from "../../base/log/log.ts";
import type { ParameterHeader } from "../protocol/header_values.ts";
import type { McpServerSettings } from "./mcp_settings.ts";
import type { ServerConnection, ServerSession } from "./server_connection.ts";

/** The client that a conversation is for. */
export interface ConnectingClient {
  /** Identity of the user; empty for the gateway itself, which only lists. */
  readonly user: string;
  /** Capabilities that the server is to know. */
  readonly capabilities: JsonObject;
}

/** Dependencies of a connector. */
export interface ConnectorOptions {
  readonly settings: McpServerSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** Cancelled when the gateway does not need the server any more. */
  readonly closing: Cancellation;
  /** Returns the arguments of a tool that the server wants in headers. */
  parameterHeaders(tool: string): Promise<readonly ParameterHeader[]>;
  /** Called when the server says that its lists have changed, whoever hears it. */
  onListsChanged(): void;
}

/** Opens conversations with one server. Each kind of server has an implementation: remote ones, processes, REST APIs. */
export interface ServerConnector {
  /** Names whom the server cannot tell apart: two users share conversations, lists too, if this is the same for both. */
  scopeOf(user: string): string;
  /**
   * Opens a conversation; finds the era of the server first, if it is not known.
   * @throws {ServerFailure} Of the kind `unreachable` only if that would happen to any user.
   */
  connect(client: ConnectingClient): Promise<ServerConnection>;
  /** Continues a session of an earlier `ServerConnection.session`, without a message to the server; absent if there are none. */
  resume?(client: ConnectingClient, session: ServerSession): ServerConnection;
  /** Reports whether a conversation has to be opened anew, because the server has changed its era. */
  isStale(connection: ServerConnection): boolean;
  /** Forgets the era: the server has failed, and may come back as another one. */
  forget(): void;
  /** Leaves the server to another connector; requests under way finish. */
  retire(): void;
  /** Ends what is under way; resolves when nothing of the server is left. */
  close(): Promise<void>;
}

/** Creates the connector of a server. */
export type CreateConnector = (options: ConnectorOptions) => ServerConnector;
