import { ClientResponses } from "../llm/responses/client_responses.ts";
import type { StoredResponses } from "../llm/responses/stored_responses.ts";
import {
  mcpMessageOf,
  resolveTarget,
} from "../policy/expressions/mcp_message.ts";
import { type Cancellation, unlessCancelled } from "../base/cancellation.ts";
import type { Clock } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import type { Log } from "../base/log.ts";
import { type Body, BytesBody } from "../http/body.ts";
import type { ResponseMessage } from "../http/message.ts";
import type { BackendTokens } from "../identity/backend_tokens/backend_tokens.ts";
import {
  callerOf,
  distinctCaller,
} from "../policy/authentication/request_identity.ts";
import type { Backend, Route } from "../snapshot/snapshot.ts";
import { Attempts, type BackendAttempt } from "./request/attempts.ts";
import type { AttemptTarget } from "./balancing/attempt_target.ts";
import { hashOf } from "./balancing/hash.ts";
import {
  endpointOfSession,
  markSession,
  sessionLost,
  unmarkSession,
} from "./balancing/session_mark.ts";
import { CredentialedTarget } from "./credentials/credentialed_target.ts";
import type { Exchange } from "./exchange/exchange.ts";
import { modelSources } from "./model_sources.ts";
import { sendToProvider } from "./llm/llm_sender.ts";
import type { RemoteMedia } from "./llm/remote_media.ts";
import type { McpEndpoints } from "./mcp/mcp_endpoints.ts";
import type { Mirrors } from "./mirrors.ts";
import { isRepeatable, sendUntilGood } from "./failover/retry.ts";
import {
  findSession,
  keepsSessions,
  persistentSession,
  persistSession,
  type SessionCall,
} from "./route_sessions.ts";
import { type TimeLimit, withinLimit } from "./request/time_limit.ts";
import type { Upstreams } from "./upstreams.ts";

/** Longer bodies are not kept for another attempt. */
const MAX_REPLAY_BYTES = 64 * 1024;

/** Dependencies of the forwarder. */
export interface ForwarderOptions {
  readonly upstreams: Upstreams;
  readonly mirrors: Mirrors;
  readonly mcp: McpEndpoints;
  /** Gets tokens for backends with credentials. */
  readonly tokens: BackendTokens;
  readonly clock: Clock;
  readonly log: Log;
  /** Responses of LLMs to which clients may refer. */
  readonly responses: StoredResponses;
  /** Fetches images and files at URLs, for LLMs. */
  readonly media: RemoteMedia;
  /** Limit of bytes that are buffered to change the body of a request to an LLM. */
  readonly maxBufferBytes: number;
  /** The same for requests to LLMs. */
  readonly maxLlmBodyBytes: number;
}

/** One request to one backend. */
interface Call extends SessionCall {
  readonly attempts: Attempts;
  /** As in `BackendAttempt`; 0 for no limit. */
  readonly hasAlternative: boolean;
  readonly limitMs: number;
  /** The body, once an attempt has read it to change it: it is gone from the request then. */
  readBody?: Uint8Array;
}

/** Sends requests to backends: mirrors, time limits, attempts. */
export class Forwarder {
  readonly #options: ForwarderOptions;

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  /**
   * Returns the upstream's response as soon as its head has arrived.
   * @throws {GatewayError} When the backend does not resolve, cannot be reached, fails or exceeds a time limit.
   */
  async forward(
    exchange: Exchange,
    route: Route,
    attempt: BackendAttempt,
  ): Promise<ResponseMessage> {
    const { clock, mirrors } = this.#options;
    const isFirst = exchange.attempts === undefined;
    if (isFirst && route.mirrors.length > 0) {
      mirrors.send(exchange.request, route.mirrors, {
        requestId: exchange.requestId,
        route: route.name,
        caller: callerOf(exchange.slots),
        trace: exchange.trace?.policies,
      });
    }
    const attempts = exchange.attempts ??= new Attempts(clock.monotonic());
    let call: Call | undefined;
    try {
      call = this.#resolve(exchange, attempts, route, attempt);
      const response = await this.#sendInTime(call);
      attempts.status = response.status;
      if (keepsSessions(call)) {
        markSession(response.headers, attempts.target?.label ?? "");
      }
      persistSession(call, response, clock);
      return response;
    } catch (error) {
      throw call?.sessionEndpoint !== undefined && isUnreachable(error)
        ? sessionLost(error.message)
        : error;
    } finally {
      attempts.endedAt = clock.monotonic();
    }
  }

  #resolve(
    exchange: Exchange,
    attempts: Attempts,
    route: Route,
    { target: { backend, problem }, hasAlternative = false, limitMs = 0 }:
      BackendAttempt,
  ): Call {
    if (backend === undefined) {
      const message = problem ?? "Backend not found";
      throw new GatewayError("invalid_backend", "gateway", message);
    }
    const destination = this.#options.upstreams.get(backend);
    const { headers } = exchange.request;
    const sessionEndpoint = endpointOfSession(headers);
    if (sessionEndpoint !== undefined) unmarkSession(headers);
    const ofSession = sessionEndpoint !== undefined &&
        backend.balancing?.sharesSessions !== true
      ? destination.forSession?.(sessionEndpoint)
      : undefined;
    const session = persistentSession(exchange, route, this.#options.clock);
    const preferred = session && session.backend === hashOf(backend.key)
      ? session
      : undefined;
    return {
      exchange,
      attempts,
      route,
      backend,
      hasAlternative,
      limitMs,
      destination: ofSession ??
        (preferred && destination.preferring?.(preferred.endpoint)) ??
        destination,
      endpointOfClient: preferred?.endpoint,
      sessionEndpoint: ofSession && sessionEndpoint,
    };
  }

  /** Returns the session of a request to a route with several backends; see `findSession`. */
  findSession(exchange: Exchange, route: Route) {
    return findSession(exchange, route, this.#options);
  }

  /** Runs all attempts within the route's time limit. */
  #sendInTime(call: Call): Promise<ResponseMessage> {
    const { exchange, attempts, route, backend } = call;
    const { clock } = this.#options;
    const { requestTimeoutMs = 0 } = route;
    // Backends before this one have used a part of the time.
    const usedMs = attempts.attemptStartedAt === attempts.startedAt
      ? 0
      : clock.monotonic() - attempts.startedAt;
    const limit: TimeLimit = {
      clock,
      limitMs: requestTimeoutMs && Math.max(1, requestTimeoutMs - usedMs),
      code: "route_timeout",
      backend: backend.key,
    };
    return withinLimit(
      exchange.meter?.cancellation ?? exchange.request.cancellation,
      limit,
      (cancellation) => this.#sendWithRetries(call, cancellation),
    );
  }

  #sendWithRetries(
    call: Call,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const { exchange, attempts, backend, destination } = call;
    const { retry, replaysFailures = false } = call.route;
    const { clock, log, maxLlmBodyBytes } = this.#options;
    const maxReplayBytes = retry === undefined
      ? 0
      : backend.llm === undefined
      ? MAX_REPLAY_BYTES
      : maxLlmBodyBytes;
    const trace = exchange.trace?.policies;
    const { request, requestId } = exchange;
    return sendUntilGood(
      { request, requestId, attempts, trace },
      retry,
      cancellation,
      {
        clock,
        log,
        destination,
        hasAlternative: call.hasAlternative,
        // Backends with priorities have all attempts each; those of one group share them.
        retriesBefore: replaysFailures ? attempts.retries : 0,
        maxReplayBytes,
        send: (body) => this.#sendOnce(call, body, cancellation),
      },
    );
  }

  /** Runs one attempt within its time limit. @throws {GatewayError} When there is no endpoint. */
  #sendOnce(
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
  async #sendBody(
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
    return await mcp.send(backend, backend.mcp, {
      request,
      authority,
      slots,
      body,
      cancellation,
      trace: exchange.trace?.policies,
      onRead: (message) => {
        if (!isJsonObject(message)) return;
        const read = mcpMessageOf(message);
        attempts.mcp = read && resolveTarget(read, exchange.context);
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

/** Reports whether an endpoint is not there any more, and its sessions with it. */
function isUnreachable(error: unknown): error is GatewayError {
  return error instanceof GatewayError &&
    (error.code === "upstream_connect_failed" ||
      error.code === "upstream_tls_failed");
}
