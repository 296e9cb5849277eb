import { ClientResponses } from "../llm/responses/client_responses.ts";
import type { StoredResponses } from "../llm/responses/stored_responses.ts";
import {
  mcpMessageOf,
  resolveTarget,
} from "../policy/expressions/mcp_message.ts";
import { type Cancellation, unlessCancelled } from "../base/cancellation.ts";
import type { Clock } from "../base/clock.ts";
import { isJsonObject } from "../base/json.ts";
import { type Body, BytesBody } from "../http/body.ts";
import type { ResponseMessage } from "../http/message.ts";
import type { BackendTokens } from "../identity/backend_tokens/backend_tokens.ts";
import {
  callerOf,
  distinctCaller,
} from "../policy/authentication/request_identity.ts";
import type { Backend } from "../snapshot/backend.ts";
import { Attempts } from "./request/attempts.ts";
import { McpTargets } from "./request/mcp_targets.ts";
import type { AttemptTarget } from "./balancing/attempt_target.ts";
import { hashOf } from "./balancing/hash.ts";
import { CredentialedTarget } from "./credentials/credentialed_target.ts";
import type { Exchange } from "./exchange/exchange.ts";
import { modelSources } from "./model_sources.ts";
import { sendToProvider } from "./llm/llm_sender.ts";
import type { RemoteMedia } from "./llm/remote_media.ts";
import type { McpEndpoints } from "./mcp/mcp_endpoints.ts";
import { isRepeatable } from "./failover/retry.ts";
import { type SessionCall } from "./route_sessions.ts";
import { type TimeLimit, withinLimit } from "./request/time_limit.ts";
import type { Upstreams } from "./upstreams.ts";

/** Longer bodies are not kept for another attempt. */
export const MAX_REPLAY_BYTES = 64 * 1024;

/** Dependencies of sending attempts. */
export interface AttemptSenderOptions {
  readonly upstreams: Upstreams;
  readonly mcp: McpEndpoints;
  /** Gets tokens for backends with credentials. */
  readonly tokens: BackendTokens;
  readonly clock: Clock;
  /** Responses of LLMs to which clients may refer. */
  readonly responses: StoredResponses;
  /** Fetches images and files at URLs, for LLMs. */
  readonly media: RemoteMedia;
  /** Limit of bytes that are buffered to sign the body of a request. */
  readonly maxBufferBytes: number;
  /** The same for requests to LLMs, whose bodies are also changed. */
  readonly maxLlmBodyBytes: number;
}

/** One request to one backend. */
export interface Call extends SessionCall {
  readonly attempts: Attempts;
  /** As in `BackendAttempt`; 0 for no limit. */
  readonly hasAlternative: boolean;
  readonly limitMs: number;
  /** The body, once an attempt has read it to change it: it is gone from the request then. */
  readBody?: Uint8Array;
}

/** Sends one attempt of a request to an endpoint of its backend, in the form and with the credentials that the backend needs. */
export class AttemptSender {
  readonly #options: AttemptSenderOptions;

  constructor(options: AttemptSenderOptions) {
    this.#options = options;
  }

  /** Runs one attempt within its time limit. @throws {GatewayError} When there is no endpoint. */
  send(
    call: Call,
    unread: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const unprepared = call.destination.prepare();
    return unprepared === undefined
      ? this.#sendTo(call, unread, cancellation)
      : unlessCancelled(unprepared, cancellation)
        .then(() => this.#sendTo(call, unread, cancellation));
  }

  #sendTo(
    origin: Call,
    unread: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const { exchange, attempts, route, backend, destination } = origin;
    const target = destination.choose(
      attempts.tried,
      keyOf(exchange, backend),
      route.replaysFailures === true || isRepeatable(exchange.request),
    );
    const limit: TimeLimit = {
      clock: this.#options.clock,
      limitMs: route.backendTimeoutMs ??
        ((isRepeatable(exchange.request) && target.trialLimitMs) ||
          origin.limitMs),
      code: "upstream_timeout",
      backend: backend.key,
    };
    attempts.startAt(target);
    const { request, trace, span } = exchange;
    const upstream = this.#credentialed(target, origin);
    trace?.callStarts(target.label);
    const send = (traceparent = "") =>
      withinLimit(
        cancellation,
        limit,
        (limited) =>
          this.#sendBody(origin, upstream, { unread, traceparent }, limited),
      );
    const call = span === undefined
      ? send()
      : span.attempt(request, backend, target.label, send);
    return trace === undefined ? call : trace.callEnds(call);
  }

  /** Returns the target with the credentials of its backend. */
  #credentialed(
    target: AttemptTarget,
    { exchange, backend: { credentials, llm, tls } }: Call,
  ): Pick<AttemptTarget, "send"> {
    if (credentials === undefined) return target;
    const { tokens, maxLlmBodyBytes, clock } = this.#options;
    const maxBufferBytes = llm === undefined
      ? this.#options.maxBufferBytes
      : maxLlmBodyBytes;
    return new CredentialedTarget(target, {
      credentials,
      caller: callerOf(exchange.slots),
      tokens,
      held: exchange.request.held,
      maxReplayBytes: llm === undefined ? MAX_REPLAY_BYTES : maxBufferBytes,
      maxSignedBytes: maxBufferBytes,
      scheme: tls === undefined ? "http" : "https",
      clock,
      trace: exchange.trace?.policies,
    });
  }

  /** Sends to the MCP servers, the LLM provider or the endpoint of a backend. @param traceparent Place of the attempt in a trace. */
  #sendBody(
    call: Call,
    upstream: Pick<AttemptTarget, "send">,
    { unread, traceparent }: {
      readonly unread: Body | undefined;
      readonly traceparent: string;
    },
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const { exchange, attempts, route, backend, readBody } = call;
    const { request, requestId, slots, span } = exchange;
    const { clock, maxLlmBodyBytes, mcp, upstreams } = this.#options;
    if (backend.llm !== undefined) {
      const body = readBody === undefined ? unread : new BytesBody(readBody);
      return sendToProvider({
        target: backend.llm,
        upstream,
        request,
        body,
        held: request.held,
        cancellation,
        attempts,
        requestId,
        trace: exchange.trace?.policies,
        clock,
        maxBufferBytes: maxLlmBodyBytes,
        onRead: (bytes) => call.readBody = bytes,
        media: this.#options.media,
        responses: new ClientResponses(
          this.#options.responses,
          storageOwnerOf(exchange),
        ),
        models: () => modelSources(exchange, route, upstreams),
      });
    }
    const body = span === undefined ? unread : span.stamp(unread, traceparent);
    if (backend.mcp === undefined) {
      return upstream.send(request, body, cancellation);
    }
    const { authority } = exchange.originalRequest;
    return mcp.send(backend, backend.mcp, {
      request,
      authority,
      slots,
      body,
      cancellation,
      trace: exchange.trace?.policies,
      onRead: (message) => {
        if (!isJsonObject(message)) return;
        const read = mcpMessageOf(message);
        attempts.mcp = read && resolveTarget(read, McpTargets.of(route));
      },
    });
  }
}

/** Returns a name that no other client has, in whatever route. */
function storageOwnerOf({ request, slots }: Exchange): string {
  const caller = distinctCaller(slots);
  const address = ["address", request.owners?.at(-1)];
  return JSON.stringify(caller.length > 0 ? caller : address);
}

/** Returns the hash by which a request keeps its endpoint; `undefined` when any will do. */
function keyOf(exchange: Exchange, { balancing }: Backend): number | undefined {
  const { hashHeader: name, hashKey } = balancing ?? {};
  const value = hashKey?.of(exchange.context) ??
    (name && exchange.request.headers.getJoined(name));
  return value === undefined ? undefined : hashOf(value);
}
