import type { Clock } from "../../base/clock.ts";
import { GatewayError, type GatewayErrorCode } from "../../base/errors.ts";
import type { Ejection } from "../../snapshot/backend.ts";
import { MovingAverage } from "./health/moving_average.ts";
import { SilenceWatch } from "./silence_watch.ts";

/** Reason for which an endpoint is ejected. */
export type EjectionReason =
  | "connect_failures"
  | "errors"
  | "latency"
  | "limited"
  | "silence";

/**
 * `unhealthy`: fails its checks. `ejected`: gets no requests for a while. `returning`: that time is over, and one request decides.
 */
export type HealthState = "healthy" | "unhealthy" | "ejected" | "returning";

/** Errors after which no request can have reached the endpoint. */
const connectErrors: ReadonlySet<GatewayErrorCode> = new Set([
  "egress_denied",
  "upstream_connect_failed",
  "upstream_tls_failed",
]);

/** Errors of an endpoint that did not respond, or not well. */
const responseErrors: ReadonlySet<GatewayErrorCode> = new Set([
  "upstream_closed",
  "upstream_protocol_error",
  "upstream_timeout",
  "route_timeout",
]);

/** Part of the latest attempts from which on an endpoint is failing. */
const MANY_FAILURES = 0.05;
/** An average of fewer latencies ejects nobody. */
const MIN_LATENCIES = 10;

/** Shortest time for the response of an endpoint that had stopped responding. */
const MIN_TRIAL_MS = 2000;

/** Dependencies of the health of an endpoint. */
export interface EndpointHealthOptions {
  readonly clock: Clock;
  readonly ejection: Ejection;
  /** Decides whether the endpoint may be ejected: never the last one. */
  readonly mayEject: (reason: EjectionReason) => boolean;
  /** Called when the state has changed. */
  readonly onChange: () => void;
}

/** The health of one endpoint, as its responses and its checks tell. */
export class EndpointHealth {
  readonly #options: EndpointHealthOptions;
  #ejectedUntil: number | undefined;
  #isReturning = false;
  #passesChecks = true;
  /** Attempts since the start that ended with 5xx, or without a response for a reason of the endpoint. */
  failures = 0;
  #connectFailures = 0;
  #errors = 0;
  /** Ejections in a row: each lasts twice as long. */
  #inARow = 0;
  #returnedAt = 0;
  readonly #latencies = new MovingAverage();
  /** Of 1 for each failed attempt and 0 for others, since the endpoint came back. */
  readonly #failureShare = new MovingAverage();
  /** The latest ejection: requests that may be repeated find out whether it is over. */
  #reason: EjectionReason | undefined;
  readonly #silence = new SilenceWatch();
  readonly ejections: Record<EjectionReason, number> = {
    connect_failures: 0,
    errors: 0,
    latency: 0,
    limited: 0,
    silence: 0,
  };

  constructor(options: EndpointHealthOptions) {
    this.#options = options;
  }

  get state(): HealthState {
    if (!this.#passesChecks) return "unhealthy";
    if (this.#isReturning) return "returning";
    return this.#ejectedUntil === undefined ? "healthy" : "ejected";
  }

  /** Part of the latest attempts that are `failures`, each of the last ten for a tenth; `undefined` before the first one. */
  get failureShare(): number | undefined {
    return this.#failureShare.value;
  }

  /** Reports whether many of the latest attempts failed. */
  get isFailing(): boolean {
    return (this.failureShare ?? 0) >= MANY_FAILURES;
  }

  /** Monotonic time from which one request may try the endpoint again; `Infinity` when it is not ejected, or fails its checks. */
  get returnsAt(): number {
    return this.#passesChecks ? this.#ejectedUntil ?? Infinity : Infinity;
  }

  /** Reports whether a request that may not be repeated can try the endpoint: that costs it nothing if no connection opens. */
  get isSafeToTry(): boolean {
    return this.#reason === "connect_failures";
  }

  /** Time for the response of a request that finds out if the endpoint responds again; 0 for others. */
  get trialLimitMs(): number {
    const isTrial = this.#isReturning && this.#reason === "silence";
    return isTrial ? Math.max(MIN_TRIAL_MS, this.#silence.limitMs) : 0;
  }

  /** Records that a request is sent whose response does not wait for its client. */
  sent(): void {
    this.#silence.sent(this.#now);
  }

  /** Ejects the endpoint if it has stopped responding; returns whether it did. */
  ejectIfSilent(): boolean {
    if (this.state !== "healthy" || !this.#silence.isSilent(this.#now)) {
      return false;
    }
    this.#eject("silence");
    return this.state !== "healthy";
  }

  readonly #now = () => this.#options.clock.monotonic();

  /** Moving average of the time to the response head; `undefined` before the first response. */
  get latencyMs(): number | undefined {
    return this.#latencies.value;
  }

  /** Records that the endpoint passes or fails its checks. */
  checked(isPassing: boolean): void {
    if (isPassing === this.#passesChecks) return;
    this.#passesChecks = isPassing;
    this.#failureShare.clear();
    this.#options.onChange();
  }

  /** Reports whether slow responses eject the endpoint. */
  get judgesLatency(): boolean {
    return this.#options.ejection.latencyMs !== undefined;
  }

  /**
   * Judges a response.
   * @param latencyMs `undefined` if it was not measured.
   * @param retryAfterMs Set when the endpoint asks for a pause, as with 429 and `Retry-After`.
   */
  responded(
    status: number,
    latencyMs: number | undefined,
    retryAfterMs?: number,
  ): void {
    this.#connectFailures = 0;
    this.#silence.responded(latencyMs);
    if (this.#isReturning) this.#failureShare.clear();
    this.#countOutcome(status >= 500);
    if (retryAfterMs !== undefined && retryAfterMs > 0) {
      return this.#eject("limited", retryAfterMs);
    }
    if (status >= 500 && status !== 501 && status !== 505) {
      return this.#countError();
    }
    this.#errors = 0;
    if (this.#isReturning || this.#reason === "silence") this.#return();
    if (latencyMs !== undefined) this.#judgeLatency(latencyMs);
  }

  #judgeLatency(latencyMs: number): void {
    this.#latencies.add(latencyMs);
    const { count, value = 0 } = this.#latencies;
    const limitMs = this.#options.ejection.latencyMs;
    if (limitMs !== undefined && count >= MIN_LATENCIES && value > limitMs) {
      this.#eject("latency");
    }
  }

  /** Judges an attempt without a response; errors of clients say nothing about the endpoint. */
  failed(error: unknown): void {
    const code = error instanceof GatewayError ? error.code : "internal";
    if (code === "client_closed") this.#silence.abandoned(this.#now());
    else this.#silence.responded();
    if (connectErrors.has(code) || responseErrors.has(code)) {
      this.#countOutcome(true);
    }
    if (connectErrors.has(code)) {
      this.#connectFailures++;
      const limit = this.#options.ejection.connectFailures;
      if (this.#connectFailures >= limit || this.#isReturning) {
        this.#eject("connect_failures");
      }
    } else if (responseErrors.has(code)) this.#countError();
    else if (this.#isReturning) {
      this.#ejectedUntil = this.#options.clock.monotonic();
      this.#options.onChange();
    }
  }

  /** Lets one request try the endpoint, and a second one if the first has no outcome for a while. */
  probe(): void {
    const { clock, ejection } = this.#options;
    this.#isReturning = true;
    this.#ejectedUntil = clock.monotonic() + ejection.baseMs;
    this.#options.onChange();
  }

  #countOutcome(isFailure: boolean): void {
    if (isFailure) this.failures++;
    this.#failureShare.add(isFailure ? 1 : 0);
  }

  #countError(): void {
    this.#errors++;
    const limit = this.#options.ejection.errors;
    if (this.#errors >= limit || this.#isReturning) this.#eject("errors");
  }

  #return(): void {
    if (this.#ejectedUntil === undefined) return;
    this.#ejectedUntil = undefined;
    this.#reason = undefined;
    this.#isReturning = false;
    this.#returnedAt = this.#options.clock.monotonic();
    this.#options.onChange();
  }

  /** @param askedMs Duration that the endpoint asks for. */
  #eject(reason: EjectionReason, askedMs?: number): void {
    const { clock, ejection, mayEject, onChange } = this.#options;
    if (this.#ejectedUntil !== undefined && !this.#isReturning) return;
    if (!mayEject(reason)) {
      if (this.#isReturning) this.#return();
      return;
    }
    const now = clock.monotonic();
    const { baseMs, maxMs } = ejection;
    const hasRecovered = !this.#isReturning &&
      now - this.#returnedAt > 2 * this.#durationMs(baseMs, maxMs);
    this.#inARow = hasRecovered ? 1 : this.#inARow + 1;
    const durationMs = askedMs === undefined
      ? this.#durationMs(baseMs, maxMs)
      : Math.min(askedMs, maxMs);
    this.#ejectedUntil = now + durationMs;
    this.#reason = reason;
    this.#isReturning = false;
    this.#connectFailures = 0;
    this.#errors = 0;
    this.#latencies.clear();
    this.ejections[reason]++;
    onChange();
  }

  #durationMs(baseMs: number, maxMs: number): number {
    return Math.min(maxMs, baseMs * 2 ** Math.max(0, this.#inARow - 1));
  }
}
