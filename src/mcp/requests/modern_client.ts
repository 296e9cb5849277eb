import type { Cancellation } from "../../base/cancellation.ts";
import type { JsonObject } from "../../base/json.ts";
import type { McpServer } from "../servers/federated_server.ts";
import {
  ownSide,
  type ServerConnection,
} from "../servers/server_connection.ts";
import type { Client } from "../clients/client.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";

/** The client of one request. */
export interface ModernClientOptions {
  readonly user: string;
  readonly capabilities: JsonObject;
  readonly logLevel: string | undefined;
  /** Of the request. */
  readonly cancellation: Cancellation;
}

/** A client of the modern era, for the time of one request. */
export class ModernClient implements Client {
  readonly era = "modern";

  readonly user: string;
  readonly capabilities: JsonObject;
  readonly #services: EndpointServices;
  readonly #options: ModernClientOptions;

  constructor(services: EndpointServices, options: ModernClientOptions) {
    this.user = options.user;
    this.capabilities = options.capabilities;
    this.#services = services;
    this.#options = options;
  }

  connect(server: McpServer): Promise<ServerConnection> {
    return this.#services.common.get(server, this);
  }

  async converse<T>(
    server: McpServer,
    work: (connection: ServerConnection) => Promise<T>,
  ): Promise<T> {
    const connection = await this.#services.common.open(server, this);
    try {
      await this.#setLevel(connection);
      return await work(connection);
    } finally {
      // The server forgets the session by itself, if it does not learn of its end.
      connection.close().catch(() => {});
    }
  }

  /** Servers with sessions have a level for the session. */
  async #setLevel(connection: ServerConnection): Promise<void> {
    const { logLevel: level, cancellation } = this.#options;
    const { about: { capabilities }, isShareable } = connection;
    if (level === undefined || isShareable) return;
    if (capabilities["logging"] === undefined) return;
    const side = ownSide(cancellation);
    await connection.request("logging/setLevel", { level }, side);
  }
}
