import { HttpTransport, type SendHttp } from "../http/http_transport.ts";
import { LegacyConnection } from "../legacy/legacy_connection.ts";
import type { McpAddress } from "../mcp_settings.ts";
import type { ServerConnection } from "../server_connection.ts";
import type {
  ConnectingClient,
  ConnectorOptions,
  ServerConnector,
} from "../server_connector.ts";
import { SseLink } from "./sse_link.ts";

/** Connects to a server that speaks HTTP with SSE (MCP 2024-11-05): each conversation has a stream, and ends with it. */
export class SseConnector implements ServerConnector {
  readonly #options: ConnectorOptions;
  readonly #createLink: () => SseLink;

  constructor(address: McpAddress, send: SendHttp, options: ConnectorOptions) {
    const { name } = options.settings;
    const http = new HttpTransport(address, send, options);
    this.#options = options;
    this.#createLink = () => new SseLink(name, http, address);
  }

  /** All users have the same credentials. */
  scopeOf(): string {
    return "";
  }

  async connect({ capabilities }: ConnectingClient): Promise<ServerConnection> {
    const options = { ...this.#options, capabilities };
    return await LegacyConnection.open(this.#createLink, options);
  }

  isStale(): boolean {
    return false;
  }

  forget(): void {
    // There is only one era with this transport.
  }

  retire(): void {
    // Clients end their conversations.
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
