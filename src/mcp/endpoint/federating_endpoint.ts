import type { ResponseMessage } from "../../http/message.ts";
import { findWrongParameter } from "../protocol/header_values.ts";
import { RpcFailure, writeError } from "../protocol/rpc_messages.ts";
import { keepTimer } from "../streams/message_deadline.ts";
import { jsonResponse } from "../streams/rpc_answer.ts";
import {
  acceptsEvents,
  checkModernRequest,
  headerOf,
  mismatch,
  type RpcRequest,
  withTrace,
} from "./arrival.ts";
import { accepted, notAllowed, restarting } from "./endpoint_responses.ts";
import type { ServerChange } from "../clients/changes.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";
import {
  isModern,
  type ModernArrival,
  ModernRequests,
} from "../requests/modern_requests.ts";
import { describeTools } from "../approval/described_tools.ts";
import type { DescribedServerTools } from "../approval/tool_descriptions.ts";
import type { McpServerStatus } from "../servers/server_status.ts";
import {
  type EndpointRequest,
  readMessages,
  type RelayRequest,
} from "./endpoint_request.ts";
import { DirectCalls } from "./direct_calls.ts";
import { DirectLists } from "./direct_lists.ts";
import { SessionRequests } from "./session_requests.ts";
import { ClientSessions } from "../sessions/client_sessions.ts";

/** One MCP endpoint in front of several servers, for clients of both eras (Streamable HTTP). */
export class McpEndpoint {
  readonly #services: EndpointServices;
  readonly #sessions: ClientSessions;
  readonly #inSessions: SessionRequests;
  readonly #modern: ModernRequests;
  readonly #calls: DirectCalls;
  readonly #lists: DirectLists;
  readonly #relay: RelayRequest | undefined;
  readonly #home: number | undefined;
  readonly #leaveTimer: () => void;

  /**
   * @param relay Of an endpoint that several workers serve.
   * @param home Worker that handles all requests, because it has the processes of servers; `undefined` if any can.
   */
  constructor(
    services: EndpointServices,
    relay?: RelayRequest,
    home?: number,
  ) {
    this.#services = services;
    this.#home = relay && home;
    this.#sessions = new ClientSessions(services);
    this.#inSessions = new SessionRequests(
      services,
      this.#sessions,
      (worker, request) => this.#relayTo(worker, request),
    );
    this.#modern = new ModernRequests(services);
    this.#calls = new DirectCalls(services, this.#sessions, this.#modern);
    this.#lists = new DirectLists(services, this.#sessions);
    this.#relay = relay;
    this.#leaveTimer = keepTimer(services.clock);
  }

  /** Handles a request; failures are responses. */
  handle(request: EndpointRequest): Promise<ResponseMessage> {
    const home = this.#home ?? this.#services.worker;
    if (home !== this.#services.worker) return this.#handleAt(home, request);
    const response = this.#calls.handle(request) ?? this.#lists.handle(request);
    return response === undefined
      ? this.#handle(request)
      : Promise.resolve(response);
  }

  async #handleAt(
    home: number,
    request: EndpointRequest,
  ): Promise<ResponseMessage> {
    return await this.#relay?.(home, request) ?? restarting();
  }

  async #handle(request: EndpointRequest): Promise<ResponseMessage> {
    switch (request.method) {
      case "POST":
        return await this.#post(request);
      case "GET":
      case "DELETE":
        return await this.#inSessions.handle(request);
      default:
        return notAllowed();
    }
  }

  /** Counts what metrics have of the servers and the clients. */
  describe() {
    return {
      servers: this.#services.servers.map(({ server, lists }) => ({
        name: server.name,
        isUp: !server.health.describe().isFailed,
        tools: {
          listed: lists.countTools(server.settings),
          ...this.#services.catalog.countsOf(server.name),
        },
      })),
      sessions: this.#sessions.size,
      waitingCalls: this.#modern.parked,
    };
  }

  /** Describes the servers for humans. */
  describeServers(): readonly McpServerStatus[] {
    return this.#services.servers.map(({ server, lists }) =>
      server.describe({
        listed: lists.countTools(server.settings),
        ...this.#services.catalog.countsOf(server.name),
      })
    );
  }

  /** Describes the tools of the servers for those who approve them. */
  async describeTools(): Promise<readonly DescribedServerTools[]> {
    const { common, catalog, clock } = this.#services;
    const client = { user: "", capabilities: {} };
    return await describeTools(
      await catalog.listedTools({
        ...client,
        connect: (server) => common.get(server, client),
      }),
      clock,
    );
  }

  /** Decides anew which tools clients may use: others are approved. */
  forgetApprovals(): void {
    const { catalog, changes, servers } = this.#services;
    catalog.forgetApprovals();
    for (const { server } of servers) {
      if (server.settings.approval?.kind === "firstUse") changes.report(server);
    }
  }

  /** Takes a change at a server that another worker has noticed. */
  learn({ server: name, isBack }: ServerChange): void {
    const { changes, servers } = this.#services;
    const changed = servers.find(({ server }) => server.name === name);
    if (changed === undefined) return;
    changed.lists.invalidate();
    if (isBack) void changed.server.health.recheck();
    changes.report(changed.server);
  }

  /** Leaves the clients to another endpoint; requests under way finish. */
  async retire(): Promise<void> {
    this.#leaveTimer();
    this.#modern.close();
    this.#sessions.leave();
    for (const { server } of this.#services.servers) server.retire();
    await this.#services.common.close();
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#leaveTimer();
    this.#modern.close();
    this.#sessions.close();
    const { servers, common } = this.#services;
    await Promise.all([
      ...servers.map(({ server }) => server.close()),
      common.close(),
    ]);
  }

  async #post(request: EndpointRequest): Promise<ResponseMessage> {
    const { headers } = request;
    const messages = readMessages(request);
    if ("status" in messages) return messages;
    const [only, ...others] = messages;
    const revision = headerOf(headers, "mcp-protocol-version");
    if (only !== undefined && others.length === 0) {
      const { kind } = only;
      if (kind === "request" && isModern(only.params, revision)) {
        return await this.#handleModern(withTrace(only, headers), request);
      }
      if (kind === "request" && only.method === "initialize") {
        return await this.#inSessions.initialize(only, request);
      }
      if (kind === "notification" && isModern(only.params, revision)) {
        return accepted();
      }
    }
    return await this.#inSessions.handle(request, messages);
  }

  async #handleModern(
    message: RpcRequest,
    request: EndpointRequest,
  ): Promise<ResponseMessage> {
    const { headers, user, owners, sees, cancellation } = request;
    const { id, method, params } = message;
    try {
      checkModernRequest(method, params, headers);
      await this.#checkParameters(message, request);
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      return jsonResponse(writeError(id, error), 400);
    }
    const arrival: ModernArrival = {
      id,
      method,
      params,
      user,
      owners,
      sees,
      acceptsEvents: acceptsEvents(headers),
      cancellation,
    };
    const worker = this.#modern.workerOf(arrival);
    return await this.#relayTo(worker, request) ??
      await this.#modern.handle(arrival);
  }

  /** Arguments that a tool wants in headers must be the same there. */
  async #checkParameters(
    { method, params }: RpcRequest,
    { headers, user, cancellation }: EndpointRequest,
  ): Promise<void> {
    if (method !== "tools/call") return;
    const { name, arguments: args } = params;
    if (typeof name !== "string") return;
    const client = this.#modern.clientOf({ params, user, cancellation });
    const declared = await this.#services.methods.tools.parameterHeaders(
      name,
      client,
    );
    const wrong = findWrongParameter(
      declared,
      args,
      (header) => headerOf(headers, header),
    );
    if (wrong !== undefined) throw mismatch(wrong);
  }

  async #relayTo(
    worker: number | undefined,
    request: EndpointRequest,
  ): Promise<ResponseMessage | undefined> {
    return worker === undefined || worker === this.#services.worker
      ? undefined
      : await this.#relay?.(worker, request);
  }
}
