import { type Clock, recentTime } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Cancellation } from "../../base/cancellation.ts";
import type { Log } from "../../base/log/log.ts";
import type { Body } from "../../http/body.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import type { McpEndpoint } from "../../mcp/endpoint/federating_endpoint.ts";
import { createEndpoint } from "../../mcp/endpoint/create_endpoint.ts";
import type { DescribedServerTools } from "../../mcp/approval/tool_descriptions.ts";
import type { PinPlace, ToolPins } from "../../mcp/approval/tool_pins.ts";
import type { HeldBytes } from "../../http/body_memory.ts";
import type { Caller } from "../../identity/backend_tokens/backend_credentials.ts";
import { callerOf } from "../../policy/authentication/request_identity.ts";
import { EventQueue } from "../../mcp/streams/event_queue.ts";
import {
  type McpServerStatus,
  unusedServer,
} from "../../mcp/servers/server_status.ts";
import { RpcText } from "../../mcp/direct/rpc_text.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";
import type { ToolCall } from "../../telemetry/metrics/mcp_metrics.ts";
import type { PolicyTrace } from "../../policy/contract/policy_trace.ts";
import type { Slots } from "../../policy/contract/slot.ts";
import type { Backend, McpTarget } from "../../snapshot/backend.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import type { TrustsPeer } from "../request/forwarding_headers.ts";
import { visibleTools } from "../../policy/mcp/tool_judges.ts";
import { userOf } from "./caller.ts";
import {
  seesCaller,
  type SendToServerOptions,
  withTrace,
} from "./send_to_server.ts";
import { Programs } from "./programs.ts";
import type { WorkerRelay } from "./worker_relay.ts";
import { connectorOf } from "./server_connectors.ts";
import { describeEndpoints } from "./described_endpoints.ts";
import { isRebound } from "./dns_rebinding.ts";

/** Dependencies of the endpoints. */
export interface McpEndpointsOptions extends SendToServerOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Returns the backend with a key in the configuration in force. */
  findBackend(key: string): Backend | undefined;
  /** Seals sessions; at least 32 characters. */
  readonly secret: string;
  /** Approved tools of servers without a lock file. */
  readonly pins: ToolPins;
  /** Set where several workers serve the endpoints. */
  readonly relay: WorkerRelay | undefined;
  readonly trustsPeer: TrustsPeer;
  /** Counts a call of a tool. @param tool Empty for one that the server has not listed. */
  recordCall(call: ToolCall): void;
}

/** An endpoint of the current configuration. */
interface OpenEndpoint {
  readonly backend: string;
  readonly target: McpTarget;
  readonly endpoint: McpEndpoint;
  /** The user of an endpoint whose servers see who the caller is, with the latest token. */
  caller: Caller | undefined;
  /** Monotonic time of the last request. */
  usedAt: number;
  /** The same of when it has been moved behind all others. */
  movedAt: number;
}

/** Endpoints of users are kept for this time without requests. */
const IDLE_MS = 30 * 60_000;
const MAX_ENDPOINTS = 2000;
/** Which of two was used last is known to this precision: a `Map` that changes with each request leaves much garbage. */
const ORDER_MS = 1000;

/** A request to an endpoint. */
export interface McpCall {
  readonly request: RequestMessage;
  /** Host and port as the client sent them. */
  readonly authority: string;
  readonly slots: Slots | undefined;
  readonly body: Body | undefined;
  readonly cancellation: Cancellation;
  readonly trace: Pick<PolicyTrace, "report"> | undefined;
  /** Called with the parsed body, or what matters in it, before the request is handled; `undefined` if it is no JSON. */
  onRead(message: unknown): void;
}

/** A server of a backend. */
export interface BackendMcpServer extends McpServerStatus {
  /** Key of the backend, such as `default/tools`. */
  readonly backend: string;
}

/**
 * The endpoints in front of MCP servers; they outlive configurations that do not change them. A backend whose servers get tokens of
 * the caller has an endpoint for each user: conversations, lists and failures of one user are never those of another.
 */
export class McpEndpoints {
  readonly #options: McpEndpointsOptions;
  /** By backend and user; the one that was used least recently first. */
  readonly #open = new Map<string, OpenEndpoint>();
  /** Key of the backend that a caller has used last. */
  readonly #keys = new WeakMap<Caller, {
    readonly backend: string;
    readonly key: string;
  }>();
  readonly #programs = new Programs();

  constructor(options: McpEndpointsOptions) {
    this.#options = options;
    options.relay?.serve((key, request, caller) => {
      const backend = options.findBackend(key);
      return backend?.mcp &&
        this.#endpointOf(backend, backend.mcp, caller).handle(request);
    }, (key, change) => this.#open.get(key)?.endpoint.learn(change));
  }

  /** Handles a request to a backend with MCP servers. */
  async send(
    backend: Backend,
    target: McpTarget,
    { request, authority, slots, body, cancellation, trace, onRead }: McpCall,
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
    const { maxBufferBytes } = this.#options;
    const message = { body, held };
    const peeked = peekBody(message, maxBufferBytes);
    const bytes = peeked instanceof Promise ? await peeked : peeked;
    message.body?.cancel(bytes === undefined ? "too long" : "read");
    if (bytes === undefined) throw tooLong(maxBufferBytes);
    const text = new RpcText(bytes);
    onRead(target.discovery === undefined ? text.summary : text.value);
    const caller = target.servers.some(seesCaller)
      ? callerOf(slots)
      : undefined;
    const endpoint = this.#endpointOf(backend, target, caller);
    const arrived = {
      method,
      headers,
      text,
      user: userOf(slots),
      owners,
      sees: slots && visibleTools(slots),
      cancellation,
    };
    const response =
      await (trace === undefined
        ? endpoint.handle(arrived)
        : withTrace(trace, () => endpoint.handle(arrived)));
    hold(response, held);
    return response;
  }

  /** Describes the endpoints that requests have used, those of all users as one. */
  describe(): ReturnType<typeof describeEndpoints> {
    return describeEndpoints(this.#open.values());
  }

  /** Describes the servers of all backends of a snapshot, also of those that no request has used. */
  *describeServers({ backends }: Snapshot): Generator<BackendMcpServer> {
    for (const [backend, { mcp }] of backends) {
      if (mcp === undefined) continue;
      const known = [...this.#open.values()].findLast((each) =>
        each.backend === backend
      );
      const servers = known?.target === mcp
        ? known.endpoint.describeServers()
        : mcp.servers.map(unusedServer);
      for (const server of servers) yield { backend, ...server };
    }
  }

  /** Describes the tools of the servers of all backends, or of one, for those who approve them; connects to servers if it has to. */
  async describeTools({ backends }: Snapshot, only?: PinPlace): Promise<
    readonly (DescribedServerTools & { readonly backend: string })[]
  > {
    const described = [...backends.values()].map(async (backend) => {
      const { key, mcp } = backend;
      const isWanted = only === undefined || only.backend === key;
      if (mcp === undefined || !isWanted || mcp.servers.some(seesCaller)) {
        return [];
      }
      const endpoint = this.#endpointOf(backend, mcp, undefined);
      return (await endpoint.describeTools())
        .filter(({ server }) => only === undefined || only.server === server)
        .map((each) => ({ backend: key, ...each }));
    });
    return (await Promise.all(described)).flat();
  }

  /** Decides anew which tools clients may use: others are approved. */
  forgetApprovals(): void {
    for (const { endpoint } of this.#open.values()) endpoint.forgetApprovals();
  }

  /** Retires the endpoints of backends that are not in the snapshot, or have changed; requests under way finish. */
  retainOnly(snapshot: Snapshot): void {
    const { backends } = snapshot;
    this.#programs.retainOnly(snapshot);
    for (const [key, { backend, target, endpoint }] of this.#open) {
      if (backends.get(backend)?.mcp === target) continue;
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
    await this.#programs.close();
  }

  #endpointOf(
    backend: Backend,
    target: McpTarget,
    caller: Caller | undefined,
  ): McpEndpoint {
    const { clock } = this.#options;
    const key = this.#keyOf(backend, caller);
    const known = this.#open.get(key);
    const now = recentTime(clock);
    const isCurrent = known?.target === target;
    if (isCurrent && now < known.movedAt + ORDER_MS) {
      known.caller = caller;
      known.usedAt = now;
      return known.endpoint;
    }
    if (!isCurrent) void known?.endpoint.retire();
    const open = isCurrent ? known : this.#create(key, backend, target);
    open.caller = caller;
    open.usedAt = open.movedAt = now;
    this.#open.delete(key);
    this.#open.set(key, open);
    if (!isCurrent) this.#retireUnused();
    return open.endpoint;
  }

  /** Returns the key of an endpoint; requests with the same token share the caller. */
  #keyOf({ key: backend }: Backend, caller: Caller | undefined): string {
    if (caller === undefined) return backend;
    const known = this.#keys.get(caller);
    if (known?.backend === backend) return known.key;
    const { issuer, subject, rights } = caller;
    const key = JSON.stringify([backend, issuer, subject, rights]);
    this.#keys.set(caller, { backend, key });
    return key;
  }

  #create(key: string, backend: Backend, target: McpTarget): OpenEndpoint {
    const { clock, log, secret, pins, relay } = this.#options;
    const endpoint = createEndpoint({
      key: backend.key,
      backend: backend.name,
      servers: target.servers.map((server) => ({
        settings: server.settings,
        address: server.address,
        createConnector: (options) =>
          connectorOf(backend, server, {
            ...this.#options,
            programs: this.#programs,
            caller: () => open.caller,
          }, options),
      })),
      discovery: target.discovery,
      secret,
      pins,
      observe: (server, tool, beganAt = clock.monotonic()) => (result) =>
        this.#options.recordCall({
          backend: backend.name,
          server,
          tool,
          result,
          seconds: (clock.monotonic() - beganAt) / 1000,
        }),
      clock,
      log,
      worker: relay?.worker ?? 1,
      home: target.servers.some(({ transport }) => transport.kind === "stdio")
        ? PROCESS_WORKER
        : undefined,
      announce: relay && ((change) => relay.announce(key, change)),
      relay: relay &&
        ((worker, request) =>
          relay.send(worker, backend.key, request, open.caller)),
    });
    const open: OpenEndpoint = {
      backend: backend.key,
      target,
      endpoint,
      caller: undefined,
      usedAt: 0,
      movedAt: 0,
    };
    return open;
  }

  /** Users continue their sessions in new endpoints. */
  #retireUnused(): void {
    const before = this.#options.clock.monotonic() - IDLE_MS;
    for (const [key, { endpoint, caller, usedAt }] of this.#open) {
      if (this.#open.size <= MAX_ENDPOINTS && usedAt > before) break;
      if (caller === undefined) continue;
      this.#open.delete(key);
      void endpoint.retire();
    }
  }
}

/** Worker that has the processes of servers: users would have one in each, if all had. */
const PROCESS_WORKER = 1;

function tooLong(maxBytes: number): GatewayError {
  return new GatewayError(
    "body_too_large",
    "downstream",
    `Cannot read the request: the body is longer than ${maxBytes} bytes`,
  );
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
