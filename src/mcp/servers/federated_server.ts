import { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import type { ParameterHeader } from "../protocol/header_values.ts";
import type { Era } from "../protocol/revisions.ts";
import type { McpServerSettings } from "./mcp_settings.ts";
import type { ServerConnection, ServerSession } from "./server_connection.ts";
import type {
  ConnectingClient,
  CreateConnector,
  ServerConnector,
} from "./server_connector.ts";
import { ServerFailure } from "./failures/server_failure.ts";
import { ServerHealth } from "./failures/server_health.ts";
import {
  type McpServerStatus,
  type ServerToolCounts,
  unusedServer,
} from "./server_status.ts";

/** Dependencies of a server. */
export interface McpServerOptions {
  readonly settings: McpServerSettings;
  /** Address for humans; see `McpServerStatus`. */
  readonly address: string;
  readonly createConnector: CreateConnector;
  readonly clock: Clock;
  readonly log: Log;
  /** Lists the tools anew. @throws {ServerFailure} */
  check(server: McpServer): Promise<void>;
  /** Called when the server fails or comes back. */
  onChange(server: McpServer, failure: ServerFailure | undefined): void;
  /** As `ConnectorOptions.onListsChanged`. */
  onListsChanged(server: McpServer): void;
  /** Returns the arguments of a tool that the server wants in headers. */
  parameterHeaders(
    server: McpServer,
    tool: string,
  ): Promise<readonly ParameterHeader[]>;
}

/** One server of an endpoint: its health, and conversations with it. */
export class McpServer {
  readonly settings: McpServerSettings;
  readonly health: ServerHealth;
  /** Cancelled when the gateway does not need the server any more. */
  readonly closing = new Cancellation();
  readonly #options: McpServerOptions;
  readonly #connector: ServerConnector;
  /** The latest era that was found, and when the first one was, in milliseconds since the epoch. */
  #found: { readonly era: Era; readonly firstAt: number } | undefined;

  constructor(options: McpServerOptions) {
    const { settings, clock, log, createConnector } = options;
    this.#options = options;
    this.settings = settings;
    this.#connector = createConnector({
      settings,
      clock,
      log,
      closing: this.closing,
      parameterHeaders: (tool) => options.parameterHeaders(this, tool),
      onListsChanged: () => options.onListsChanged(this),
    });
    this.health = new ServerHealth({
      clock,
      check: async () => {
        this.#connector.forget();
        await options.check(this);
      },
      onChange: (failure) => options.onChange(this, failure),
    });
  }

  get name(): string {
    return this.settings.name;
  }

  /** As `ServerConnector.scopeOf`. */
  scopeOf(user: string): string {
    return this.#connector.scopeOf(user);
  }

  /** As `ServerConnector.connect`; records failures. @throws {ServerFailure} */
  async connect(client: ConnectingClient): Promise<ServerConnection> {
    try {
      const connection = await this.#connector.connect(client);
      this.#found = {
        era: connection.about.era,
        firstAt: this.#found?.firstAt ?? this.#options.clock.now(),
      };
      return connection;
    } catch (error) {
      if (error instanceof ServerFailure) this.health.failed(error);
      throw error;
    }
  }

  /** Continues a session, or begins one if the server has none that can be continued. @throws {ServerFailure} */
  async resume(
    client: ConnectingClient,
    session: ServerSession,
  ): Promise<ServerConnection> {
    return this.#connector.resume?.(client, session) ??
      await this.connect(client);
  }

  /** As `ServerConnector.isStale`. */
  isStale(connection: ServerConnection): boolean {
    return this.#connector.isStale(connection);
  }

  /** Describes the server for humans. */
  describe(
    { listed: tools, held, suspicious }: ServerToolCounts,
  ): McpServerStatus {
    const { isFailed, changedAt, latest } = this.health.describe();
    const since = changedAt ?? this.#found?.firstAt;
    const isUsed = since !== undefined || tools !== undefined;
    return {
      ...unusedServer(this.#options),
      state: isFailed ? "failed" : isUsed ? "up" : "unused",
      era: this.#found?.era ?? null,
      tools: tools ?? null,
      held: held ?? null,
      suspicious: suspicious ?? null,
      since: since === undefined ? null : new Date(since).toISOString(),
      lastError: latest?.message ?? null,
      lastErrorAt: latest === undefined
        ? null
        : new Date(latest.at).toISOString(),
    };
  }

  /** Ends checks; requests under way finish. */
  retire(): void {
    this.health.close();
    this.#connector.retire();
  }

  /** Ends checks and what is under way. */
  async close(): Promise<void> {
    this.health.close();
    const problem = "is not used any more";
    this.closing.cancel(new ServerFailure(this.name, "broken", problem));
    await this.#connector.close();
  }

  /** Records the failure of a server that is gone; returns the error. */
  noteFailure<T>(error: T): T {
    if (error instanceof ServerFailure && error.isDown) {
      this.health.failed(error);
    }
    return error;
  }
}
