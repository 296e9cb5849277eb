import { Cancellation, createDeadline, sleep } from "../base/cancellation.ts";
import type { Clock } from "../base/clock.ts";
import { GatewayError, type GatewayErrorCode } from "../base/errors.ts";
import type { Body } from "../http/body.ts";
import type { ResponseMessage } from "../http/message.ts";
import type { Upstream } from "../http/client/upstream.ts";
import type {
  Backend,
  Mirror,
  Retry,
  Route,
  WeightedBackend,
} from "../snapshot/snapshot.ts";
import type { Exchange } from "./exchange.ts";
import { mirrorBody } from "./mirrored_body.ts";
import { ReplayableBody } from "./replayable_body.ts";
import type { Upstreams } from "./upstreams.ts";

/** Bodies up to this size can be sent again. */
const MAX_REPLAY_BYTES = 64 * 1024;

const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "PUT",
  "DELETE",
  "TRACE",
]);

/** Failures after which the upstream cannot have acted on the request. */
const NOT_SENT: ReadonlySet<GatewayErrorCode> = new Set([
  "upstream_connect_failed",
  "upstream_overloaded",
]);

/** Failures after which it may have: only idempotent requests are sent again (RFC 9110 section 9.2.2). */
const MAYBE_SENT: ReadonlySet<GatewayErrorCode> = new Set([
  "upstream_closed",
  "upstream_timeout",
]);

/** What the forwarder needs of its surroundings. */
export interface ForwarderOptions {
  readonly upstreams: Upstreams;
  readonly clock: Clock;
  /** Uniform in [0, 1); decides which requests are mirrored. */
  readonly random: () => number;
  /** Hears why a mirrored request failed; its client never does. */
  readonly onMirrorFailure: (
    exchange: Exchange,
    mirror: Mirror,
    error: unknown,
  ) => void;
}

/** Sends requests to backends: time limits, tries, mirrors. */
export class Forwarder {
  readonly #options: ForwarderOptions;

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  /**
   * The upstream's response, as soon as its head is here.
   * @throws {GatewayError} When the backend does not resolve, cannot be reached, fails or is late.
   */
  async forward(
    exchange: Exchange,
    route: Route,
    target: WeightedBackend,
  ): Promise<ResponseMessage> {
    const { backend, problem } = target;
    if (backend === undefined) {
      throw new GatewayError(
        "invalid_backend",
        "gateway",
        problem ?? "Backend not found",
      );
    }
    const { clock, upstreams } = this.#options;
    if (route.mirrors.length > 0) this.#mirror(exchange, route.mirrors);
    const startedAt = clock.monotonic();
    try {
      return await this.#sendInTime(
        exchange,
        route,
        backend,
        upstreams.get(backend),
      );
    } finally {
      exchange.upstreamMs = clock.monotonic() - startedAt;
    }
  }

  async #sendInTime(
    exchange: Exchange,
    route: Route,
    backend: Backend,
    upstream: Upstream,
  ): Promise<ResponseMessage> {
    const { cancellation, body } = exchange.request;
    const limitMs = route.requestTimeoutMs ?? 0;
    if (limitMs === 0) {
      return await this.#sendWithRetries(exchange, route, backend, upstream);
    }
    const deadline = createDeadline(
      cancellation,
      this.#options.clock,
      limitMs,
      () =>
        new GatewayError(
          "route_timeout",
          "upstream",
          `No response within ${limitMs} ms`,
        ),
    );
    try {
      const { cancellation } = deadline;
      return await this.#sendWithRetries(
        exchange,
        route,
        backend,
        upstream,
        cancellation,
      );
    } catch (error) {
      body?.cancel(error);
      throw error;
    } finally {
      deadline.lift();
    }
  }

  async #sendWithRetries(
    exchange: Exchange,
    route: Route,
    backend: Backend,
    upstream: Upstream,
    cancellation: Cancellation = exchange.request.cancellation,
  ): Promise<ResponseMessage> {
    const { retry } = route;
    const { body } = exchange.request;
    if (retry === undefined) {
      return await this.#sendOnce(
        exchange,
        route,
        backend,
        upstream,
        body,
        cancellation,
      );
    }
    const replay = body === undefined
      ? undefined
      : new ReplayableBody(body, MAX_REPLAY_BYTES);
    try {
      for (;;) {
        const left = retry.attempts - exchange.retries;
        const mayRetry = () => left > 0 && (replay?.replayable ?? true);
        const response = await this.#try(
          () =>
            this.#sendOnce(
              exchange,
              route,
              backend,
              upstream,
              replay,
              cancellation,
            ),
          (outcome) =>
            mayRetry() && isWorthRetrying(outcome, retry, exchange.method),
        );
        if (response !== undefined) return response;
        await sleep(
          this.#options.clock,
          retry.backoffMs * 2 ** exchange.retries,
          cancellation,
        );
        exchange.retries++;
        replay?.rewind();
      }
    } finally {
      replay?.settle();
    }
  }

  /** One try: its response, or `undefined` when it shall be repeated. */
  async #try(
    send: () => Promise<ResponseMessage>,
    shallRetry: (outcome: ResponseMessage | GatewayError) => boolean,
  ): Promise<ResponseMessage | undefined> {
    try {
      const response = await send();
      if (!shallRetry(response)) return response;
      response.body?.cancel("tried again");
      return undefined;
    } catch (error) {
      if (error instanceof GatewayError && shallRetry(error)) return undefined;
      throw error;
    }
  }

  async #sendOnce(
    exchange: Exchange,
    route: Route,
    backend: Backend,
    upstream: Upstream,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const limitMs = route.backendTimeoutMs ?? 0;
    if (limitMs === 0) {
      return await upstream.send(exchange.request, body, cancellation);
    }
    const deadline = createDeadline(
      cancellation,
      this.#options.clock,
      limitMs,
      () =>
        new GatewayError(
          "upstream_timeout",
          "upstream",
          `No response from "${backend.key}" within ${limitMs} ms`,
        ),
    );
    try {
      return await upstream.send(exchange.request, body, deadline.cancellation);
    } finally {
      deadline.lift();
    }
  }

  #mirror(exchange: Exchange, mirrors: readonly Mirror[]): void {
    for (const mirror of mirrors) {
      if (this.#options.random() >= mirror.fraction) continue;
      this.#sendCopy(exchange, mirror).catch((error: unknown) =>
        this.#options.onMirrorFailure(exchange, mirror, error)
      );
    }
  }

  async #sendCopy(exchange: Exchange, mirror: Mirror): Promise<void> {
    const { request } = exchange;
    let copy: Body | undefined;
    if (request.body !== undefined) {
      const bodies = mirrorBody(request.body);
      request.body = bodies.original;
      copy = bodies.copy;
    }
    const message = {
      ...request,
      headers: request.headers.copy(),
      upgrade: undefined,
    };
    const upstream = this.#options.upstreams.get(mirror.backend);
    const response = await upstream.send(message, copy, new Cancellation());
    await drain(response.body);
  }
}

/** Reads to the end, so that the connection can be used again. */
async function drain(body: Body | undefined): Promise<void> {
  while (await body?.read() !== undefined);
}

function isWorthRetrying(
  outcome: ResponseMessage | GatewayError,
  retry: Retry,
  method: string,
): boolean {
  if (!(outcome instanceof GatewayError)) {
    return retry.codes.has(outcome.status);
  }
  if (NOT_SENT.has(outcome.code)) return true;
  return MAYBE_SENT.has(outcome.code) && IDEMPOTENT_METHODS.has(method);
}
