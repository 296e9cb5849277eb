import type { Caller } from "../../identity/backend_tokens/backend_credentials.ts";
import { OpenApiConnector } from "../../mcp/openapi/openapi_connector.ts";
import { HttpConnector } from "../../mcp/servers/http/http_connector.ts";
import type {
  ConnectorOptions,
  ServerConnector,
} from "../../mcp/servers/server_connector.ts";
import { SseConnector } from "../../mcp/servers/sse/sse_connector.ts";
import type { Backend, McpTargetServer } from "../../snapshot/backend.ts";
import type { Programs } from "./programs.ts";
import { createSend, type SendToServerOptions } from "./send_to_server.ts";
import { SessionPlaces } from "./session_places.ts";

/** Dependencies of connectors. */
interface ConnectorServices extends SendToServerOptions {
  readonly programs: Programs;
  /** Returns the user of the endpoint, if its servers see who that is. */
  caller(): Caller | undefined;
}

/** Returns what connects an endpoint with a server, by the server's transport. */
export function connectorOf(
  { key }: Backend,
  { settings, transport }: McpTargetServer,
  services: ConnectorServices,
  options: ConnectorOptions,
): ServerConnector {
  if (transport.kind === "stdio") {
    return services.programs.connectorOf(key, transport.command, options);
  }
  const places = new SessionPlaces(transport.kind === "sse");
  const caller = () => services.caller();
  const sendTo = (backend: Backend) =>
    createSend(settings.name, backend, { caller, places }, services);
  const send = sendTo(transport.backend);
  switch (transport.kind) {
    case "http":
      return new HttpConnector(transport.address, send, options);
    case "sse":
      return new SseConnector(transport.address, send, options);
    case "openapi": {
      const { api, operations, document } = transport;
      const source = "text" in document
        ? document
        : { ...document, send: sendTo(document.backend) };
      const rest = { api, operations, document: source, send };
      return new OpenApiConnector(rest, options);
    }
  }
}
