import { stringMember } from "../../base/json.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { passedCapabilities } from "../clients/client.ts";
import { describeServers } from "../clients/described_servers.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";
import {
  gatewayInfo,
  LEGACY_REVISION,
  legacyRevisions,
} from "../protocol/revisions.ts";
import {
  RPC,
  type RpcMessage,
  writeError,
  writeResult,
} from "../protocol/rpc_messages.ts";
import { ClientSession } from "../sessions/client_session.ts";
import type { ClientSessions } from "../sessions/client_sessions.ts";
import { newNonce, type SessionFacts } from "../sessions/session_id.ts";
import { jsonResponse } from "../streams/rpc_answer.ts";
import {
  acceptsEvents,
  headerOf,
  type RpcRequest,
  unsupported,
  withTrace,
} from "./arrival.ts";
import type { EndpointRequest, RelayTo } from "./endpoint_request.ts";
import { accepted, failed, withoutSession } from "./endpoint_responses.ts";

/** Requests of clients with sessions: those of revisions up to 2025-11-25. */
export class SessionRequests {
  readonly #services: EndpointServices;
  readonly #sessions: ClientSessions;
  readonly #relayTo: RelayTo;

  constructor(
    services: EndpointServices,
    sessions: ClientSessions,
    relayTo: RelayTo,
  ) {
    this.#services = services;
    this.#sessions = sessions;
    this.#relayTo = relayTo;
  }

  /** Begins a session, with the protocol revision that the client asks for if the gateway has it. */
  async initialize(
    { id, params }: RpcRequest,
    { headers, user }: EndpointRequest,
  ): Promise<ResponseMessage> {
    const { servers, clock, worker } = this.#services;
    const requested = stringMember(params, "protocolVersion");
    if (requested === undefined) {
      const message = 'Invalid params: "protocolVersion" is missing';
      return jsonResponse(
        writeError(id, { code: RPC.INVALID_PARAMS, message }),
        acceptsEvents(headers) ? 200 : 400,
      );
    }
    const revision = legacyRevisions.includes(requested)
      ? requested
      : LEGACY_REVISION;
    const begun: SessionFacts = {
      nonce: newNonce(),
      user,
      revision,
      capabilities: passedCapabilities(params["capabilities"], "legacy"),
      servers: {},
      beganAt: clock.now(),
      worker,
    };
    const session = new ClientSession(begun, this.#services);
    const about = await describeServers(servers, session);
    const sessionId = this.#sessions.add(session, {
      ...begun,
      servers: await session.serverSessions(),
    });
    const response = jsonResponse(writeResult(id, {
      protocolVersion: revision,
      capabilities: about.capabilities,
      serverInfo: gatewayInfo,
      ...(about.instructions && { instructions: about.instructions }),
    }));
    response.headers.append("mcp-session-id", sessionId);
    return response;
  }

  /** Handles what belongs to a session: in the worker that has it. */
  async handle(
    request: EndpointRequest,
    messages: readonly RpcMessage[] = [],
  ): Promise<ResponseMessage> {
    const { method, headers, user } = request;
    const id = headerOf(headers, "mcp-session-id");
    if (id === undefined) {
      if (method !== "POST") return withoutSession();
      return failed(
        400,
        RPC.SERVER_ERROR,
        "Bad Request: Mcp-Session-Id is required",
      );
    }
    const revision = headerOf(headers, "mcp-protocol-version");
    if (revision !== undefined && !legacyRevisions.includes(revision)) {
      const failure = unsupported(revision);
      return jsonResponse(writeError(null, failure), 400);
    }
    const facts = this.#sessions.read(id, user);
    if (facts === undefined) {
      return failed(404, RPC.SESSION_NOT_FOUND, "Session not found");
    }
    const relayed = await this.#relayTo(facts.worker, request);
    if (relayed !== undefined) return relayed;
    if (method === "DELETE") {
      await this.#sessions.end(facts);
      return { status: 200, headers: new HeaderList(), body: undefined };
    }
    const session = this.#sessions.use(facts);
    if (method === "GET") return listen(session, headers);
    const requests = messages.filter((each) => each.kind === "request")
      .map((each) => withTrace(each, headers));
    for (const message of messages) {
      if (message.kind !== "request") session.take(message);
    }
    return requests.length === 0 ? accepted() : await session.handle(requests, {
      acceptsEvents: acceptsEvents(headers),
      owners: request.owners,
      sees: request.sees,
    });
  }
}

function listen(session: ClientSession, headers: HeaderList): ResponseMessage {
  if (!acceptsEvents(headers)) {
    return failed(406, RPC.SERVER_ERROR, "Accept must have text/event-stream");
  }
  return session.listen(headerOf(headers, "last-event-id")) ??
    failed(400, RPC.SERVER_ERROR, "Unknown Last-Event-ID");
}
