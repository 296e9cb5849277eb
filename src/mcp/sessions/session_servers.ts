import { OpenConnections } from "../clients/open_connections.ts";
import type { Client } from "../clients/client.ts";
import type { McpServer } from "../servers/federated_server.ts";
import type {
  RequestSide,
  ServerConnection,
  ServerSession,
} from "../servers/server_connection.ts";

/** The conversations of a session with the servers. */
export class SessionServers {
  readonly #client: Client;
  /** Sessions that began in another process, by the name of the server. */
  readonly #begun: Readonly<Record<string, ServerSession>>;
  readonly #connections = new OpenConnections<McpServer>();

  constructor(client: Client, begun: Readonly<Record<string, ServerSession>>) {
    this.#client = client;
    this.#begun = begun;
  }

  /** Returns the conversation with a server that has no other client. @throws {ServerFailure} */
  async connect(server: McpServer): Promise<ServerConnection> {
    return await this.#connections.get(server, server, () => {
      // A name such as "constructor" must not find what all objects have.
      const session = Object.hasOwn(this.#begun, server.name)
        ? this.#begun[server.name]
        : undefined;
      return session === undefined
        ? server.connect(this.#client)
        : server.resume(this.#client, session);
    });
  }

  /** Returns the conversation with a server, if it is open. */
  current(server: McpServer): ServerConnection | undefined {
    return this.#connections.current(server, server);
  }

  /** Returns the sessions at the servers, by name. */
  async sessions(): Promise<Readonly<Record<string, ServerSession>>> {
    const open = await Promise.allSettled(
      this.#connections.entries().map(async ([{ name }, opening]) =>
        [name, (await opening).session] as const
      ),
    );
    return Object.fromEntries(open.flatMap((each) => {
      if (each.status === "rejected") return [];
      const [name, session] = each.value;
      return session === undefined ? [] : [[name, session] as const];
    }));
  }

  /** Sets the level of log messages at servers that are open and keep one. */
  async setLevel(level: string, side: RequestSide): Promise<void> {
    await Promise.allSettled(
      this.#connections.entries().map(async ([, opening]) => {
        const connection = await opening;
        const { era, capabilities } = connection.about;
        if (era === "modern" || capabilities["logging"] === undefined) return;
        await connection.request("logging/setLevel", { level }, side);
      }),
    );
  }

  /** Passes a notification on to all that are open. */
  notify(method: string): void {
    for (const [, opening] of this.#connections.entries()) {
      // The server asks when it needs the data, if it misses this.
      opening.then((open) => open.notify(method, {})).catch(() => {});
    }
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }
}
