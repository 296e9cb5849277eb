import type { ResponseMessage } from "../../http/message.ts";
import type { Place } from "../catalog/server_entries.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";
import {
  acceptsEvents,
  headerOf,
  type RpcRequest,
  withTrace,
} from "./arrival.ts";
import {
  type EndpointRequest,
  isJson,
  readMessages,
} from "./endpoint_request.ts";
import type { Era } from "../protocol/revisions.ts";
import { writeRawResult } from "../protocol/raw_messages.ts";
import { isModern, type ModernRequests } from "../requests/modern_requests.ts";
import type { BegunCall } from "../servers/begun_call.ts";
import type { ServerConnection } from "../servers/server_connection.ts";
import type { ClientSessions } from "../sessions/client_sessions.ts";
import { jsonResponse, STREAM_AFTER_MS } from "../streams/rpc_answer.ts";
import type { AnswerOutline } from "../direct/answer_outline.ts";
import type { CallOutline } from "../direct/call_outline.ts";
import {
  factsOf,
  type MetaFacts,
  requestMetas,
  resultMetas,
  wantsProgress,
} from "../direct/metas.ts";
import { DirectCall, type DirectCallOptions } from "../direct/direct_call.ts";

/** Time for the answer, until the client gets the beginning of a stream: in a session, it can come back for the result from then on. */
const waitMs: Readonly<Record<Era, number>> = {
  modern: STREAM_AFTER_MS,
  legacy: 500,
};

/** A call of a tool, and where it goes. */
interface Call {
  readonly request: EndpointRequest;
  readonly outline: CallOutline;
  readonly facts: MetaFacts;
  readonly place: Place;
}

/** Calls of tools that go to a server of the client's era as they are, with the tool's name there. All others take the long way. */
export class DirectCalls {
  readonly #services: EndpointServices;
  readonly #sessions: ClientSessions;
  readonly #modern: ModernRequests;
  readonly #metas = requestMetas();
  readonly #resultMetas = {
    legacy: resultMetas("legacy"),
    modern: resultMetas("modern"),
  };

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

  #handleModern(call: Call): Promise<ResponseMessage> | undefined {
    const { request, outline: { id }, facts, place } = call;
    const { headers, user, cancellation } = request;
    if (!this.#services.catalog.hasPlainHeaders(place)) return undefined;
    const client = { user, capabilities: facts.capabilities };
    const connection = this.#services.common.current(place.server, client);
    const begun = this.#begin(call, connection, "modern");
    if (begun === undefined) return undefined;
    const direct = this.#direct(call, begun, "modern", {
      respond: (answer, source) =>
        jsonResponse(
          writeRawResult(this.#resultOf(id, "modern", answer, source)),
        ),
      goOn: () =>
        this.#modern.handle({
          ...messageOf(request),
          user,
          owners: request.owners,
          sees: request.sees,
          acceptsEvents: acceptsEvents(headers),
          cancellation,
          begun,
        }),
      onEnd: () => unsubscribe(),
    });
    const unsubscribe = cancellation.onCancel(() => direct.goOn());
    return direct.response;
  }

  #handleLegacy(
    call: Call,
    revision: string | undefined,
  ): Promise<ResponseMessage> | undefined {
    const { request, outline: { id }, place } = call;
    const { headers, user, owners, sees } = request;
    const sessionId = headerOf(headers, "mcp-session-id");
    const session = this.#sessions.find(sessionId, revision, user);
    if (session?.canRun(id) !== true) return undefined;
    const connection = session.current(place.server);
    const begun = this.#begin(call, connection, "legacy");
    if (begun === undefined) return undefined;
    const accepts = acceptsEvents(headers);
    const open = session.open(id);
    const direct = this.#direct(call, begun, "legacy", {
      respond: (answer, source) => {
        const result = this.#resultOf(id, "legacy", answer, source);
        return session.respond(open, {
          acceptsEvents: accepts,
          length: source.length,
          write: (...around) => writeRawResult(result, ...around),
        });
      },
      goOn: () => {
        const arrival = { acceptsEvents: accepts, owners, sees, begun };
        return session.goOn(messageOf(request), arrival, open);
      },
      onEnd: () => unsubscribe(),
    });
    const unsubscribe = open.cancellation.onCancel(() => direct.goOn());
    return direct.response;
  }

  #begin(
    { request: { owners }, outline: { name, args }, facts, place }: Call,
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

  #direct(
    { place: { server: { settings } } }: Call,
    call: BegunCall,
    era: Era,
    options: Pick<DirectCallOptions, "respond" | "goOn" | "onEnd">,
  ): DirectCall {
    return new DirectCall({
      ...options,
      clock: this.#services.clock,
      call,
      form: { era, id: call.id, hasOwnUris: settings.prefix !== "" },
      limitMs: Math.min(waitMs[era], settings.timeouts.callMs),
    });
  }

  #resultOf(
    id: CallOutline["id"],
    era: Era,
    { members, meta }: AnswerOutline,
    source: Uint8Array,
  ) {
    return {
      id,
      era,
      source,
      members,
      meta: this.#resultMetas[era].read(meta),
    };
  }
}

/** Parses the message of an ordinary call. */
function messageOf(request: EndpointRequest): RpcRequest {
  const messages = readMessages(request);
  const only = "status" in messages ? undefined : messages[0];
  if (only?.kind !== "request") {
    throw new TypeError("Cannot go on with a message that is no request");
  }
  return withTrace(only, request.headers);
}
