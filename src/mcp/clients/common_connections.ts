import type { JsonObject } from "../../base/json.ts";
import type { McpServer } from "../servers/federated_server.ts";
import type { ServerConnection } from "../servers/server_connection.ts";
import type { ConnectingClient } from "../servers/server_connector.ts";
import { OpenConnections } from "./open_connections.ts";

/** Conversations that clients with the same capabilities share, as far as they have no effects on each other. */
export class CommonConnections {
  readonly #open = new OpenConnections<string>();

  /**
   * Returns a conversation for lists. There are few: of the capabilities, only known ones count.
   * @throws {ServerFailure}
   */
  async get(
    server: McpServer,
    client: ConnectingClient,
  ): Promise<ServerConnection> {
    const key = keyOf(server, client);
    return await this.#open.get(key, server, () => server.connect(client));
  }

  /** Returns the same, if it is open. */
  ready(
    server: McpServer,
    client: ConnectingClient,
  ): ServerConnection | undefined {
    return this.#open.current(keyOf(server, client), server);
  }

  /** Returns the same, if it is open and may be used for calls of several clients. */
  current(
    server: McpServer,
    client: ConnectingClient,
  ): ServerConnection | undefined {
    const open = this.ready(server, client);
    return open?.isShareable === true ? open : undefined;
  }

  /**
   * Returns a conversation for calls, which is to be closed after them: of its own at a server with sessions, whose state must not
   * reach another client.
   * @throws {ServerFailure}
   */
  async open(
    server: McpServer,
    client: ConnectingClient,
  ): Promise<ServerConnection> {
    const shared = await this.get(server, client);
    return shared.isShareable ? unclosed(shared) : await server.connect(client);
  }

  /** Ends all conversations. */
  async close(): Promise<void> {
    await this.#open.close();
  }
}

/** Keys without the scope, by the capabilities of clients, which are the same objects for many requests. */
const keys = new WeakMap<JsonObject, WeakMap<McpServer, string>>();

function keyOf(server: McpServer, client: ConnectingClient): string {
  const { capabilities, user } = client;
  const key = keys.getOrInsertComputed(capabilities, () => new WeakMap())
    .getOrInsertComputed(
      server,
      () => `${server.name}\n${JSON.stringify(capabilities)}`,
    );
  const scope = server.scopeOf(user);
  return scope === "" ? key : `${key}\n${scope}`;
}

/** Others go on to use it. */
function unclosed(shared: ServerConnection): ServerConnection {
  return {
    about: shared.about,
    view: shared.view,
    isShareable: true,
    session: undefined,
    request: (...request) => shared.request(...request),
    notify: (...notification) => shared.notify(...notification),
    listen: (...listen) => shared.listen(...listen),
    close: () => Promise.resolve(),
  };
}
