import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { formatHostPort } from "../../base/wire/host_port.ts";
import type { Body } from "../../http/body.ts";
import type { Upstream, UpstreamRequest } from "../../http/client/upstream.ts";
import { readRetryAfter } from "../../http/retry_after.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { Endpoint } from "../../snapshot/backend.ts";
import type { AttemptTarget } from "./attempt_target.ts";
import type { EndpointCheck } from "./health/endpoint_check.ts";
import { hashOf } from "./hash.ts";
import type { EndpointHealth } from "./endpoint_health.ts";
import { isPrompt } from "./silence_watch.ts";

/** Part of the weight of an endpoint that has just been added, with slow start. */
const FIRST_SHARE = 0.1;

/** One request of so many is timed where its latency is shown only. */
const TIMED = 8;

/** Dependencies of an endpoint. */
export interface BalancedEndpointOptions {
  readonly upstream: Upstream;
  readonly health: EndpointHealth;
  readonly clock: Clock;
}

/** An address of a backend, with its connections and its health as this thread sees it. */
export class BalancedEndpoint implements AttemptTarget {
  readonly label: string;
  /** Hash of the address. */
  readonly hash: number;
  readonly upstream: Upstream;
  readonly health: EndpointHealth;
  readonly #clock: Clock;
  #warmsUpFrom = 0;
  #warmUpMs = 0;
  requests = 0;
  /** The backend has other endpoints, to which requests may go. */
  hasPeers = false;
  /** `undefined` when only responses tell the health of the endpoint. */
  check: EndpointCheck | undefined;

  constructor(
    { host, port }: Endpoint,
    { upstream, health, clock }: BalancedEndpointOptions,
  ) {
    this.label = formatHostPort(host, port);
    this.hash = hashOf(this.label);
    this.upstream = upstream;
    this.health = health;
    this.#clock = clock;
  }

  /** Closes idle connections now and the others after their requests. */
  retire(): void {
    this.check?.stop();
    this.upstream.retire();
  }

  /** Closes all connections. */
  close(): void {
    this.check?.stop();
    this.upstream.close();
  }

  get trialLimitMs(): number {
    return this.health.trialLimitMs;
  }

  /** Gives the endpoint a growing share of the requests for the next `durationMs`. */
  warmUp(durationMs: number): void {
    this.#warmUpMs = durationMs;
    this.#warmsUpFrom = this.#clock.monotonic();
  }

  /** Returns the share of the requests that the endpoint should get, compared with the others: below 1 while it warms up. */
  get share(): number {
    if (this.#warmUpMs === 0) return 1;
    const share = (this.#clock.monotonic() - this.#warmsUpFrom) /
      this.#warmUpMs;
    if (share >= 1) {
      this.#warmUpMs = 0;
      return 1;
    }
    return Math.max(share, FIRST_SHARE);
  }

  /** Sends a request and judges the outcome; otherwise like `Upstream.send`. */
  send(
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const isTimed = this.requests++ % TIMED === 0 || this.health.judgesLatency;
    const startedAt = isTimed ? this.#clock.monotonic() : undefined;
    if (this.hasPeers && isPrompt({ body, upgrade: request.upgrade })) {
      this.health.sent();
    }
    return this.upstream.send(request, body, cancellation).then(
      (response) => this.#responded(response, startedAt),
      this.#failed,
    );
  }

  #responded(
    response: ResponseMessage,
    startedAt: number | undefined,
  ): ResponseMessage {
    const { status, headers } = response;
    this.health.responded(
      status,
      startedAt === undefined ? undefined : this.#clock.monotonic() - startedAt,
      status === 429 || status === 503
        ? readRetryAfter(headers, this.#clock)
        : undefined,
    );
    return response;
  }

  // Created once per endpoint, not per request.
  readonly #failed = (error: unknown): never => {
    this.health.failed(error);
    throw error;
  };
}
