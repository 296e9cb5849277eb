import type { McpServer } from "../servers/federated_server.ts";
import type { ServerConnection } from "../servers/server_connection.ts";

/** Conversations that are in use, by key: requests that need the same one at the same time open it once. */
export class OpenConnections<K> {
  readonly #open = new Map<K, Promise<ServerConnection>>();
  /** Those of `#open` that are ready. */
  readonly #ready = new Map<K, ServerConnection>();

  /**
   * Returns the conversation of a key; opens it if there is none, or if the server has changed its era.
   * @throws {ServerFailure}
   */
  async get(
    key: K,
    server: McpServer,
    open: () => Promise<ServerConnection>,
  ): Promise<ServerConnection> {
    for (;;) {
      const known = this.#open.get(key);
      if (known === undefined) return await this.#begin(key, open);
      const connection = await known;
      if (!server.isStale(connection)) return connection;
      this.#forget(key, known);
    }
  }

  /** Returns the conversation of a key, if it is open and the server has not changed its era. */
  current(key: K, server: McpServer): ServerConnection | undefined {
    const ready = this.#ready.get(key);
    return ready === undefined || server.isStale(ready) ? undefined : ready;
  }

  /** Returns what is open or being opened. */
  entries(): MapIterator<[K, Promise<ServerConnection>]> {
    return this.#open.entries();
  }

  /** Ends all conversations. */
  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    this.#ready.clear();
    await Promise.allSettled(
      open.map(async (connection) => await (await connection).close()),
    );
  }

  #begin(
    key: K,
    open: () => Promise<ServerConnection>,
  ): Promise<ServerConnection> {
    const opening = open();
    this.#open.set(key, opening);
    // The caller gets the error as well.
    opening.then((connection) => {
      if (this.#open.get(key) === opening) this.#ready.set(key, connection);
    }, () => this.#forget(key, opening));
    return opening;
  }

  #forget(key: K, connection: Promise<ServerConnection>): void {
    if (this.#open.get(key) !== connection) return;
    this.#open.delete(key);
    this.#ready.delete(key);
  }
}
