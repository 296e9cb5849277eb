import type { McpMessage } from "../../policy/expressions/mcp_message.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { TokenUsage } from "../../llm/usage/token_usage.ts";
import type { WeightedBackend } from "../../snapshot/snapshot.ts";
import type { AttemptTarget } from "../balancing/attempt_target.ts";

/** An attempt that was followed by another; times are monotonic, in milliseconds. */
export interface FailedAttempt {
  /** The status of the response, or why there was none. */
  readonly outcome: number | GatewayError;
  /** Address of the endpoint, such as `10.0.0.1:80`; `undefined` when none could be chosen. */
  readonly endpoint: string | undefined;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** An attempt to send a request to a backend of its route. */
export interface BackendAttempt {
  readonly target: WeightedBackend;
  /** Another backend can have the request if this one fails: it goes there before it goes to the same endpoint again. */
  readonly hasAlternative?: boolean;
  /** Limit of the time to the response head, beside those of the route; `undefined` for none. */
  readonly limitMs?: number | undefined;
}

const none: readonly never[] = [];

/** The attempts to send one request to its backend; times are monotonic, in milliseconds. */
export class Attempts {
  readonly startedAt: number;
  /** Start of the latest attempt. */
  attemptStartedAt: number;
  /** When the response head arrived, or the gateway gave up; `undefined` until then. */
  endedAt: number | undefined;
  /** Status of the upstream's response, before policies change it; `undefined` without a response. */
  status: number | undefined;
  /** The provider's id of the request, where that is no `x-request-id`. */
  providerRequestId: string | undefined;
  /** LLM provider whose limit the latest attempt exceeded. */
  limitedBy: string | undefined;
  /** The latest attempt was longer than the context of the model. */
  isTooLong = false;
  /** The LLM provider of the latest attempt does not have the model. */
  lacksModel = false;
  /** The provider of the latest attempt withheld the answer. */
  isFiltered = false;
  /** Tokens that the provider billed for an answer that it withheld. */
  withheldUsage: TokenUsage | undefined;
  /** Fields of the client that the provider of the latest attempt did not get: `["tools[].strict"]`. */
  dropped: readonly string[] = none;
  /** Target of a message to an endpoint of MCP servers. */
  mcp: McpMessage | undefined;
  retries = 0;
  /** Target of the latest attempt. */
  target: AttemptTarget | undefined;
  /** Targets of the attempts that were followed by another. */
  tried: readonly AttemptTarget[] = none;
  /** Attempts that were followed by another. */
  failed: readonly FailedAttempt[] = none;

  constructor(startedAt: number) {
    this.startedAt = startedAt;
    this.attemptStartedAt = startedAt;
  }

  /** Time until the response head over all attempts; `undefined` while the last one is under way. */
  get durationMs(): number | undefined {
    return this.endedAt && this.endedAt - this.startedAt;
  }

  /** Backends that others have replaced, with why: `["openai=429"]`. */
  failedOver: readonly string[] = none;

  /** Records that the request goes to another backend. @param reason Status or error code. */
  failOver(
    backend: string,
    reason: string,
    outcome: number | GatewayError,
    now: number,
  ): void {
    this.fail(outcome, now);
    this.failedOver = [...this.failedOver, `${backend}=${reason}`];
    this.status = undefined;
    this.withheldUsage = undefined;
    this.startAt(undefined);
    this.retry(now);
  }

  /** Forgets what is known of the attempt before. */
  startAt(target: AttemptTarget | undefined): void {
    this.target = target;
    this.providerRequestId = undefined;
    this.limitedBy = undefined;
    this.dropped = none;
    this.isTooLong = false;
    this.lacksModel = false;
    this.isFiltered = false;
  }

  /** Returns a record for an attempt at the same time as the latest one, with what was before. */
  fork(now: number): Attempts {
    const fork = new Attempts(this.startedAt);
    fork.attemptStartedAt = now;
    fork.retries = this.retries;
    fork.tried = this.tried;
    fork.failed = this.failed;
    fork.failedOver = this.failedOver;
    return fork;
  }

  /**
   * Records an attempt that was under way at the same time, and that this one replaces.
   * @param reason As for `failOver`; `undefined` if the backend did not have to be replaced.
   */
  replace(
    other: Attempts,
    { backend, reason, outcome, endedAt }: {
      readonly backend: string;
      readonly reason: string | undefined;
      readonly outcome: number | GatewayError;
      readonly endedAt: number;
    },
  ): void {
    const { target, attemptStartedAt: startedAt } = other;
    const endpoint = target?.label;
    this.failed = [...this.failed, { outcome, endpoint, startedAt, endedAt }];
    if (target !== undefined) this.tried = [...this.tried, target];
    if (reason !== undefined) {
      this.failedOver = [...this.failedOver, `${backend}=${reason}`];
    }
    this.retries++;
  }

  /** Records that the latest attempt will be followed by another. */
  fail(outcome: number | GatewayError, endedAt: number): void {
    const { target, attemptStartedAt: startedAt } = this;
    const endpoint = target?.label;
    this.failed = [...this.failed, { outcome, endpoint, startedAt, endedAt }];
    if (target !== undefined) this.tried = [...this.tried, target];
  }

  /** Records that the next attempt starts. */
  retry(startedAt: number): void {
    this.retries++;
    this.attemptStartedAt = startedAt;
  }
}
