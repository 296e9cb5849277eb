import { Cancellation, createDeadline, sleep } from "../base/cancellation.ts";
import type { Clock } from "../base/clock.ts";
import { GatewayError, type GatewayErrorCode } from "../base/errors.ts";
import type { Body } from "../http/body.ts";
import type { RequestMessage, ResponseMessage } from "../http/message.ts";
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
import { toGatewayError } from "./respond.ts";
import type { Upstreams } from "./upstreams.ts";

/** Bodies up to this size can be sent again. */
const MAX_REPLAY_BYTES = 64 * 1024;

/** How long a mirror may take to answer. */
const MIRROR_LIMIT_MS = 30_000;

/** How much of a mirror's answer is read, so that its connection can be used again. */
const MAX_MIRROR_ANSWER_BYTES = 1024 * 1024;

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

/** One request to one backend. */
interface Call {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly backend: Backend;
  readonly upstream: Upstream;
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

  /** Every try together, within the route's time limit. */
  #sendInTime(
    exchange: Exchange,
    route: Route,
    backend: Backend,
    upstream: Upstream,
  ): Promise<ResponseMessage> {
    const { cancellation } = exchange.request;
    const limitMs = route.requestTimeoutMs ?? 0;
    const call = { exchange, route, backend, upstream };
    return this.#withinLimit(
      cancellation,
      limitMs,
      "route_timeout",
      backend,
      (limited) => this.#sendWithRetries(call, limited),
    );
  }

  #sendWithRetries(
    call: Call,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const { retry } = call.route;
    const { body } = call.exchange.request;
    if (retry === undefined) return this.#sendOnce(call, body, cancellation);
    return this.#sendUntilGood(call, retry, cancellation);
  }

  async #sendUntilGood(
    call: Call,
    retry: Retry,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const { exchange } = call;
    const { body } = exchange.request;
    const replay = body === undefined
      ? undefined
      : new ReplayableBody(body, MAX_REPLAY_BYTES);
    const mayRetry = () =>
      exchange.retries < retry.attempts && (replay?.replayable ?? true);
    try {
      for (;;) {
        const outcome = await settle(
          this.#sendOnce(call, replay, cancellation),
        );
        if (
          !mayRetry() ||
          !isWorthRetrying(outcome, retry, exchange.request.method)
        ) {
          return resultOf(outcome);
        }
        if (!(outcome instanceof GatewayError)) {
          outcome.body?.cancel("tried again");
        }
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

  /** One try, within the limit for each. */
  #sendOnce(
    { exchange, route, backend, upstream }: Call,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const limitMs = route.backendTimeoutMs ?? 0;
    return this.#withinLimit(
      cancellation,
      limitMs,
      "upstream_timeout",
      backend,
      (limited) => upstream.send(exchange.request, body, limited),
    );
  }

  /** Runs `send` with a cancellation that also ends after `limitMs`; 0 is no limit and costs nothing. */
  #withinLimit(
    cancellation: Cancellation,
    limitMs: number,
    code: GatewayErrorCode,
    backend: Backend,
    send: (cancellation: Cancellation) => Promise<ResponseMessage>,
  ): Promise<ResponseMessage> {
    if (limitMs === 0) return send(cancellation);
    const message = `No response from "${backend.key}" within ${limitMs} ms`;
    const deadline = createDeadline(
      cancellation,
      this.#options.clock,
      limitMs,
      () => new GatewayError(code, "upstream", message),
    );
    return send(deadline.cancellation).finally(deadline.lift);
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
    const copy = this.#copyBody(request);
    const upstream = this.#options.upstreams.get(mirror.backend);
    const { method, authority, target } = request;
    const message = {
      method,
      authority,
      target,
      headers: request.headers.copy(),
      upgrade: undefined,
      expectsContinue: false,
      sendInformational() {},
    };
    const response = await this.#withinLimit(
      new Cancellation(),
      MIRROR_LIMIT_MS,
      "upstream_timeout",
      mirror.backend,
      (cancellation) => upstream.send(message, copy, cancellation),
    );
    await drain(response.body);
  }

  #copyBody(request: RequestMessage): Body | undefined {
    if (request.body === undefined) return undefined;
    const { original, copy } = mirrorBody(request.body);
    request.body = original;
    return copy;
  }
}

/** Reads a mirror's answer to nowhere; a long one, such as a stream of events, is cut. */
async function drain(body: Body | undefined): Promise<void> {
  let bytes = 0;
  for (let chunk = await body?.read(); chunk; chunk = await body?.read()) {
    bytes += chunk.length;
    if (bytes > MAX_MIRROR_ANSWER_BYTES) {
      body?.cancel("Mirrored answers are not wanted");
    }
  }
}

/** The result of a try, a failure as a value. */
function settle(
  response: Promise<ResponseMessage>,
): Promise<ResponseMessage | GatewayError> {
  return response.catch(toGatewayError);
}

function resultOf(outcome: ResponseMessage | GatewayError): ResponseMessage {
  if (outcome instanceof GatewayError) throw outcome;
  return outcome;
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
