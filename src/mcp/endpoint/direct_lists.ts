import { Buffer } from "node:buffer";
import { PartsBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { OpenReader } from "../catalog/catalog.ts";
import { passedCapabilities } from "../clients/client.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";
import { type Era, META, metaOf } from "../protocol/revisions.ts";
import { RpcFailure } from "../protocol/rpc_messages.ts";
import { isModern } from "../requests/modern_requests.ts";
import { kindOfMethod } from "../servers/lists/list_items.ts";
import type { ClientSessions } from "../sessions/client_sessions.ts";
import { checkModernRequest, headerOf, type RpcRequest } from "./arrival.ts";
import { type EndpointRequest, readMessages } from "./endpoint_request.ts";

const end = Buffer.from("}");

/** Requests for whole lists that are at hand. All others take the long way. */
export class DirectLists {
  readonly #services: EndpointServices;
  readonly #sessions: ClientSessions;

  constructor(services: EndpointServices, sessions: ClientSessions) {
    this.#services = services;
    this.#sessions = sessions;
  }

  /** Handles a request, if its list is at hand; otherwise nothing has happened. */
  handle(request: EndpointRequest): ResponseMessage | undefined {
    const { lists } = this.#services;
    const message = readRequest(request);
    if (lists === undefined || message === undefined) return undefined;
    const kind = kindOfMethod.get(message.method);
    if (kind === undefined) return undefined;
    const revision = headerOf(request.headers, "mcp-protocol-version");
    const era: Era = isModern(message.params, revision) ? "modern" : "legacy";
    const reader = era === "modern"
      ? this.#modernReader(message, request)
      : this.#sessionOf(message, request, revision);
    const result = reader && lists.current(kind, era, reader);
    return result && respond(message, result);
  }

  #modernReader(
    { method, params }: RpcRequest,
    { headers, user }: EndpointRequest,
  ): OpenReader | undefined {
    try {
      checkModernRequest(method, params, headers);
    } catch (error) {
      if (error instanceof RpcFailure) return undefined;
      throw error;
    }
    const declared = metaOf(params)[META.CLIENT_CAPABILITIES];
    const client = {
      user,
      capabilities: passedCapabilities(declared, "modern"),
    };
    const { common } = this.#services;
    return { user, current: (server) => common.ready(server, client) };
  }

  #sessionOf(
    { id }: RpcRequest,
    { headers, user }: EndpointRequest,
    revision: string | undefined,
  ): OpenReader | undefined {
    const sessionId = headerOf(headers, "mcp-session-id");
    const session = this.#sessions.find(sessionId, revision, user);
    return session?.canRun(id) === true ? session : undefined;
  }
}

/** Returns the only message of a request, if it asks for the beginning of a list. */
function readRequest(request: EndpointRequest): RpcRequest | undefined {
  if (request.method !== "POST" || request.text.call !== undefined) {
    return undefined;
  }
  const messages = readMessages(request);
  const [only, ...others] = "status" in messages ? [] : messages;
  const isPlain = only?.kind === "request" && others.length === 0 &&
    Object.keys(only.params).every((name) => name === "_meta");
  return isPlain ? only : undefined;
}

/** The bytes of the list are not copied: it may be long. */
function respond({ id }: RpcRequest, result: Uint8Array): ResponseMessage {
  const start = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
  return {
    status: 200,
    headers: new HeaderList(["content-type", "application/json"]),
    body: new PartsBody([Buffer.from(start), result, end]),
  };
}
