import type { ResponseMessage } from "../../http/message.ts";
import type { Place } from "../catalog/server_entries.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";
import type { AnswerOutline } from "../direct/answer_outline.ts";
import type { CallOutline } from "../direct/call_outline.ts";
import { DirectCall, type DirectCallFacts } from "../direct/direct_call.ts";
import { type MetaFacts, resultMetas } from "../direct/metas.ts";
import { type RawResult, writeRawResult } from "../protocol/raw_messages.ts";
import type { Era } from "../protocol/revisions.ts";
import type { ModernRequests } from "../requests/modern_requests.ts";
import type { BegunCall } from "../servers/begun_call.ts";
import type { ClientSession } from "../sessions/client_session.ts";
import type { RunningRequest } from "../sessions/running_requests.ts";
import { jsonResponse, STREAM_AFTER_MS } from "../streams/rpc_answer.ts";
import { acceptsEvents, type RpcRequest, withTrace } from "./arrival.ts";
import { type EndpointRequest, readMessages } from "./endpoint_request.ts";

/** Time for the answer, until the client gets the beginning of a stream: in a session, it can come back for the result from then on. */
const waitMs: Readonly<Record<Era, number>> = {
  modern: STREAM_AFTER_MS,
  legacy: 500,
};

/** A call of a tool, and where it goes. */
export interface PlacedCall {
  readonly request: EndpointRequest;
  readonly outline: CallOutline;
  readonly facts: MetaFacts;
  readonly place: Place;
}

/** A direct call of a client without a session. */
export class ModernDirectCall extends DirectCall {
  readonly #placed: PlacedCall;
  readonly #begun: BegunCall;
  readonly #modern: ModernRequests;

  constructor(
    placed: PlacedCall,
    begun: BegunCall,
    modern: ModernRequests,
    { clock }: EndpointServices,
  ) {
    const { cancellation } = placed.request;
    super(factsOf(placed, begun, "modern", cancellation), clock);
    this.#placed = placed;
    this.#begun = begun;
    this.#modern = modern;
  }

  override respond(
    answer: AnswerOutline,
    source: Uint8Array,
  ): ResponseMessage {
    const result = resultOf(this.#placed, "modern", answer, source);
    return jsonResponse(writeRawResult(result));
  }

  override handleAsAny(): Promise<ResponseMessage> {
    const { request } = this.#placed;
    const { headers, user, owners, sees, cancellation } = request;
    return this.#modern.handle({
      ...messageOf(request),
      ...{ user, owners, sees, cancellation },
      acceptsEvents: acceptsEvents(headers),
      begun: this.#begun,
    });
  }
}

/** A direct call in a session. */
export class LegacyDirectCall extends DirectCall {
  readonly #placed: PlacedCall;
  readonly #begun: BegunCall;
  readonly #session: ClientSession;
  readonly #open: RunningRequest;

  /** @param session Can run the call. */
  constructor(
    placed: PlacedCall,
    begun: BegunCall,
    session: ClientSession,
    { clock }: EndpointServices,
  ) {
    const open = session.open(placed.outline.id);
    super(factsOf(placed, begun, "legacy", open.cancellation), clock);
    this.#placed = placed;
    this.#begun = begun;
    this.#session = session;
    this.#open = open;
  }

  override respond(
    answer: AnswerOutline,
    source: Uint8Array,
  ): ResponseMessage {
    const { headers } = this.#placed.request;
    const result = resultOf(this.#placed, "legacy", answer, source);
    return this.#session.respond(this.#open, {
      acceptsEvents: () => acceptsEvents(headers),
      length: source.length,
      write: (...around) => writeRawResult(result, ...around),
    });
  }

  override handleAsAny(): Promise<ResponseMessage> {
    const { request } = this.#placed;
    const { headers, owners, sees } = request;
    return this.#session.goOn(messageOf(request), {
      ...{ owners, sees },
      acceptsEvents: acceptsEvents(headers),
      begun: this.#begun,
    }, this.#open);
  }
}

function factsOf(
  { place: { server: { settings } } }: PlacedCall,
  call: BegunCall,
  era: Era,
  cancellation: DirectCallFacts["cancellation"],
): DirectCallFacts {
  return {
    call,
    form: { era, id: call.id, hasOwnUris: settings.prefix !== "" },
    limitMs: Math.min(waitMs[era], settings.timeouts.callMs),
    cancellation,
  };
}

const metas = {
  legacy: resultMetas("legacy"),
  modern: resultMetas("modern"),
};

function resultOf(
  { outline: { id } }: PlacedCall,
  era: Era,
  { members, meta }: AnswerOutline,
  source: Uint8Array,
): RawResult {
  return { id, era, source, members, meta: metas[era].read(meta) };
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
