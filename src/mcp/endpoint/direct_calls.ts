import type { ResponseMessage } from "../../http/message.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";
import type { CallOutline } from "../direct/call_outline.ts";
import {
  factsOf,
  type MetaFacts,
  requestMetas,
  wantsProgress,
} from "../direct/metas.ts";
import type { Era } from "../protocol/revisions.ts";
import { isModern, type ModernRequests } from "../requests/modern_requests.ts";
import type { BegunCall } from "../servers/begun_call.ts";
import type { ServerConnection } from "../servers/server_connection.ts";
import type { ClientSessions } from "../sessions/client_sessions.ts";
import { headerOf, withTrace } from "./arrival.ts";
import { type EndpointRequest, isJson } from "./endpoint_request.ts";
import {
  LegacyDirectCall,
  ModernDirectCall,
  type PlacedCall,
} from "./era_calls.ts";

/** Calls of tools that go to a server of the client's era as they are, with the tool's name there. All others take the long way. */
export class DirectCalls {
  readonly #services: EndpointServices;
  readonly #sessions: ClientSessions;
  readonly #modern: ModernRequests;
  readonly #metas = requestMetas();

  constructor(
    services: EndpointServices,
    sessions: ClientSessions,
    modern: ModernRequests,
  ) {
    this.#services = services;
    this.#sessions = sessions;
    this.#modern = modern;
  }

  /** Handles a request, if it is an ordinary call; otherwise nothing has happened. */
  handle(request: EndpointRequest): Promise<ResponseMessage> | undefined {
    const { method, headers, text } = request;
    const outline = method === "POST" ? text.call : undefined;
    if (outline === undefined || !isJson(headers)) return undefined;
    const facts = this.#factsOf(outline, request);
    const place = this.#services.methods.tools.ordinaryPlace(outline.name);
    if (place === undefined || wantsProgress(facts)) return undefined;
    const revision = headerOf(headers, "mcp-protocol-version");
    const call = { request, outline, facts, place };
    if (!isModern(facts.params, revision)) {
      return this.#handleLegacy(call, revision);
    }
    const isConsistent = revision !== undefined &&
      revision === facts.revision &&
      headerOf(headers, "mcp-method") === "tools/call" &&
      headerOf(headers, "mcp-name") === outline.name;
    return isConsistent ? this.#handleModern(call) : undefined;
  }

  #factsOf(
    { meta }: CallOutline,
    { headers }: EndpointRequest,
  ): MetaFacts {
    const facts = this.#metas.read(meta);
    if (!headers.has("traceparent")) return facts;
    const { params } = facts;
    const call = { kind: "request", id: "", method: "", params } as const;
    return factsOf(withTrace(call, headers).params);
  }

  #handleModern(call: PlacedCall): Promise<ResponseMessage> | undefined {
    const { request: { user }, facts: { capabilities }, place } = call;
    // Clients repeat no argument in headers.
    if (place.lists.knownTool(place.key)?.headers?.length !== 0) {
      return undefined;
    }
    const connection = this.#services.common.current(place.server, {
      user,
      capabilities,
    });
    const begun = this.#begin(call, connection, "modern");
    return begun &&
      new ModernDirectCall(call, begun, this.#modern, this.#services).run();
  }

  #handleLegacy(
    call: PlacedCall,
    revision: string | undefined,
  ): Promise<ResponseMessage> | undefined {
    const { request: { headers, user }, outline: { id }, place } = call;
    const sessionId = headerOf(headers, "mcp-session-id");
    const session = this.#sessions.find(sessionId, revision, user);
    if (session?.canRun(id) !== true) return undefined;
    const connection = session.current(place.server);
    const begun = this.#begin(call, connection, "legacy");
    return begun &&
      new LegacyDirectCall(call, begun, session, this.#services).run();
  }

  #begin(
    { request: { owners }, outline: { name, args }, facts, place }: PlacedCall,
    connection: ServerConnection | undefined,
    era: Era,
  ): BegunCall | undefined {
    if (connection?.about.era !== era) return undefined;
    const { clock, methods } = this.#services;
    const beganAt = clock.monotonic();
    return connection.begin?.({
      tool: place.key,
      args,
      meta: facts.passed[era],
      owners,
      beganAt,
      end: methods.tools.observe(name, place, beganAt),
    });
  }
}
