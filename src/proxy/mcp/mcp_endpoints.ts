import type { Clock } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Cancellation } from "../../base/cancellation.ts";
import type { Log } from "../../base/log.ts";
import type { Body } from "../../http/body.ts";
import type { UpstreamRequest } from "../../http/client/upstream.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import type { McpEndpoint } from "../../mcp/endpoint/federating_endpoint.ts";
import { createEndpoint } from "../../mcp/endpoint/create_endpoint.ts";
import type { HeldBytes } from "../../http/body_memory.ts";
import { EventQueue } from "../../mcp/streams/event_queue.ts";
import { HttpConnector } from "../../mcp/servers/http/http_connector.ts";
import { OpenApiConnector } from "../../mcp/openapi/openapi_connector.ts";
import type { SendHttp } from "../../mcp/servers/http/http_transport.ts";
import type {
  ConnectorOptions,
  ServerConnector,
} from "../../mcp/servers/server_connector.ts";
import {
  type McpServerStatus,
  unusedServer,
} from "../../mcp/servers/server_status.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";
import type { Slots } from "../../policy/contract/slot.ts";
import type {
  Backend,
  McpTarget,
  McpTransport,
  Snapshot,
} from "../../snapshot/snapshot.ts";
import type { Destination } from "../balancing/attempt_target.ts";
import type { TrustsPeer } from "../request/forwarding_headers.ts";
import { userOf } from "./caller.ts";
import type { WorkerRelay } from "./worker_relay.ts";
import { isRebound } from "./dns_rebinding.ts";

/** Dependencies of the endpoints. */
export interface McpEndpointsOptions {
  /** Returns where requests to a backend go. */
  destinationOf(backend: Backend): Destination;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns the backend with a key in the configuration in force. */
  findBackend(key: string): Backend | undefined;
  /** Seals sessions; at least 32 characters. */
  readonly secret: string;
  /** Set where several workers serve the endpoints. */
  readonly relay: WorkerRelay | undefined;
  readonly trustsPeer: TrustsPeer;
  /** Limit of bytes of a request. */
  readonly maxBufferBytes: number;
}

/** A request to an endpoint. */
export interface McpCall {
  readonly request: RequestMessage;
  /** Host and port as the client sent them. */
  readonly authority: string;
  readonly slots: Slots | undefined;
  readonly body: Body | undefined;
  readonly cancellation: Cancellation;
}

/** A server of a backend. */
export interface BackendMcpServer extends McpServerStatus {
  /** Key of the backend, such as `default/tools`. */
  readonly backend: string;
}

/** The endpoints in front of MCP servers; they outlive configurations that do not change them. */
export class McpEndpoints {
  readonly #options: McpEndpointsOptions;
  readonly #open = new Map<
    string,
    { readonly target: McpTarget; readonly endpoint: McpEndpoint }
  >();

  constructor(options: McpEndpointsOptions) {
    this.#options = options;
    options.relay?.serve((key, request) => {
      const backend = options.findBackend(key);
      return backend?.mcp &&
        this.#endpointOf(backend, backend.mcp).handle(request);
    });
  }

  /** Handles a request to a backend with MCP servers. */
  async send(
    backend: Backend,
    target: McpTarget,
    { request, authority, slots, body, cancellation }: McpCall,
  ): Promise<ResponseMessage> {
    const { method, headers, held, source, owners = [] } = request;
    if (isRebound(authority, request) && !this.#options.trustsPeer(source)) {
      body?.cancel("foreign host");
      throw new GatewayError(
        "misdirected_request",
        "downstream",
        `Cannot serve "${authority}": a page of another host has reached the gateway over loopback`,
      );
    }
    const text = await this.#readText({ body, held });
    const response = await this.#endpointOf(backend, target).handle({
      method,
      headers,
      text,
      user: userOf(slots),
      owners,
      cancellation,
    });
    hold(response, held);
    return response;
  }

  /** Describes the endpoints that requests have used. */
  *describe() {
    for (const [backend, { endpoint }] of this.#open) {
      yield {
        backend: backend.replace(/^[^/]*\//, ""),
        ...endpoint.describe(),
      };
    }
  }

  /** Describes the servers of all backends of a snapshot, also of those that no request has used. */
  *describeServers({ backends }: Snapshot): Generator<BackendMcpServer> {
    for (const [backend, { mcp }] of backends) {
      if (mcp === undefined) continue;
      const known = this.#open.get(backend);
      const servers = known?.target === mcp
        ? known.endpoint.describeServers()
        : mcp.servers.map(unusedServer);
      for (const server of servers) yield { backend, ...server };
    }
  }

  /** Retires the endpoints of backends that are not in the snapshot, or have changed; requests under way finish. */
  retainOnly({ backends }: Snapshot): void {
    for (const [key, { target, endpoint }] of this.#open) {
      if (backends.get(key)?.mcp === target) continue;
      this.#open.delete(key);
      void endpoint.retire();
    }
  }

  /** Ends all endpoints. */
  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    this.#options.relay?.close();
    await Promise.all(open.map(({ endpoint }) => endpoint.close()));
  }

  async #readText(
    message: Parameters<typeof peekBody>[0],
  ): Promise<string> {
    const { maxBufferBytes } = this.#options;
    const bytes = await peekBody(message, maxBufferBytes);
    if (bytes !== undefined) {
      const text = new TextDecoder().decode(bytes);
      message.body?.cancel("read");
      return text;
    }
    message.body?.cancel("too long");
    throw new GatewayError(
      "body_too_large",
      "downstream",
      `Cannot read the request: the body is longer than ${maxBufferBytes} bytes`,
    );
  }

  #endpointOf(backend: Backend, target: McpTarget): McpEndpoint {
    const known = this.#open.get(backend.key);
    if (known?.target === target) return known.endpoint;
    const { clock, log, secret, relay } = this.#options;
    const endpoint = createEndpoint({
      key: backend.key,
      backend: backend.name,
      servers: target.servers.map(({ settings, address, transport }) => ({
        settings,
        address,
        createConnector: (options) => this.#connectorOf(transport, options),
      })),
      secret,
      clock,
      log,
      worker: relay?.worker ?? 1,
      relay: relay &&
        ((worker, request) => relay.send(worker, backend.key, request)),
    });
    void known?.endpoint.retire();
    this.#open.set(backend.key, { target, endpoint });
    return endpoint;
  }

  #connectorOf(
    transport: McpTransport,
    options: ConnectorOptions,
  ): ServerConnector {
    const sendTo = (backend: Backend): SendHttp => (...request) =>
      this.#sendToServer(backend, ...request);
    const send = sendTo(transport.backend);
    if (transport.kind === "http") {
      return new HttpConnector(transport.address, send, options);
    }
    const { api, operations, document } = transport;
    return new OpenApiConnector({
      api,
      operations,
      document: "text" in document
        ? document
        : { ...document, send: sendTo(document.backend) },
      send,
    }, options);
  }

  async #sendToServer(
    backend: Backend,
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const destination = this.#options.destinationOf(backend);
    await destination.prepare();
    const target = destination.choose([], undefined, false);
    return await target.send(request, body, cancellation);
  }
}

/** Counts what a client has to take, which is in memory as a whole. @throws {GatewayError} `body_memory_full` */
function hold({ body }: ResponseMessage, held: HeldBytes | undefined): void {
  if (body instanceof EventQueue) body.holdIn(held);
  else held?.take(body?.length ?? 0);
}

/** Returns a secret of this process: sessions that it seals end with the process. */
export function randomSecret(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toBase64();
}
