import type { JsonObject } from "../../base/json.ts";
import type { McpServer } from "../servers/remote_server.ts";
import type { ServerConnection } from "../servers/server_connection.ts";

/** Conversations that clients with the same capabilities share, as far as they have no effects on each other. */
export class CommonConnections {
  readonly #open = new Map<string, Promise<ServerConnection>>();

  /**
   * Returns a conversation for lists. There are few: of the capabilities, only known ones count.
   * @throws {ServerFailure}
   */
  async get(
    server: McpServer,
    capabilities: JsonObject,
  ): Promise<ServerConnection> {
    const key = `${server.name}\n${JSON.stringify(capabilities)}`;
    const known = await this.#open.get(key);
    if (known !== undefined && !server.isStale(known)) return known;
    const opening = server.connect(capabilities);
    this.#open.set(key, opening);
    // The caller gets the error as well.
    opening.catch(() => this.#open.delete(key));
    return await opening;
  }

  /**
   * Returns a conversation for calls, which is to be closed after them: of its own at a server with sessions, whose state must not
   * reach another client.
   * @throws {ServerFailure}
   */
  async open(
    server: McpServer,
    capabilities: JsonObject,
  ): Promise<ServerConnection> {
    const shared = await this.get(server, capabilities);
    return shared.session === undefined
      ? unclosed(shared)
      : await server.connect(capabilities);
  }

  /** Ends all conversations. */
  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    await Promise.allSettled(
      open.map(async (connection) => await (await connection).close()),
    );
  }
}

/** Others go on to use it. */
function unclosed(shared: ServerConnection): ServerConnection {
  return {
    about: shared.about,
    view: shared.view,
    session: undefined,
    request: (...request) => shared.request(...request),
    notify: (...notification) => shared.notify(...notification),
    listen: (...listen) => shared.listen(...listen),
    close: () => Promise.resolve(),
  };
}
