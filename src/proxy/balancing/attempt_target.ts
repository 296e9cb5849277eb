import type { Upstream } from "../../http/client/upstream.ts";
import type { RetryBudget } from "./retry_budget.ts";

/** The endpoint of one attempt, or what stands for one. */
export interface AttemptTarget extends Pick<Upstream, "send"> {
  /** Such as `10.0.0.1:80`. */
  readonly label: string;
  /** Limit of the time to the response head, while a request finds out whether the endpoint responds again; 0 for none. */
  readonly trialLimitMs?: number;
}

/** A backend, as the attempts of its requests see it. */
export interface Destination {
  /** `undefined` when retries have no bound but their number. */
  readonly retries: RetryBudget | undefined;
  /** Returns a promise if the addresses of the backend are not known yet, or too old. */
  prepare(): Promise<void> | undefined;
  /**
   * Chooses the target of the next attempt: a healthy one that was not tried, if there is one.
   * @param tried Targets of the earlier attempts.
   * @param key Hash of the request, for consistent hashing.
   * @param mayRepeat The request can be sent again if its attempt fails.
   * @throws {GatewayError} `no_endpoints`
   */
  choose(
    tried: readonly AttemptTarget[],
    key: number | undefined,
    mayRepeat: boolean,
  ): AttemptTarget;
  /** Reports whether a target is left that is not in `tried`. */
  hasAnother(tried: readonly AttemptTarget[]): boolean;
  /** Records that a target cannot be reached: the addresses of the backend may have changed. */
  connectFailed(): void;
  /**
   * Returns the backend as requests of an MCP session see it; omitted where there is only one endpoint.
   * @param endpoint Hash of the one that began the session.
   */
  forSession?(endpoint: number): Destination;
  /** Prepares, and reports whether the backend has the endpoint with this hash. */
  hasEndpoint?(endpoint: number): Promise<boolean>;
  /** Returns the backend as requests of a persistent session see it, which prefer an endpoint; omitted where there is only one. */
  preferring?(endpoint: number): Destination;
  /** Prepares, and reports whether the backend has the endpoint with this hash and it is usable. */
  hasUsable?(endpoint: number): Promise<boolean>;
  /** Number of endpoints; omitted where there is only one. */
  readonly size?: number;
}
