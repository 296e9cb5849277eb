import { createHash } from "node:crypto";
import { Cancellation } from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import { describeError, GatewayError } from "../../../base/errors.ts";
import { formatHostPort } from "../../../base/wire/host_port.ts";
import type { Log } from "../../../base/log/log.ts";
import type {
  Upstream,
  UpstreamOptions,
} from "../../../http/client/upstream.ts";
import { HeaderList } from "../../../http/header_list.ts";
import type { Endpoint, HealthCheck } from "../../../snapshot/backend.ts";
import { withinLimit } from "../../request/time_limit.ts";
import type { CheckTurn, HealthTurns, Verdict } from "./health_records.ts";

/** A longer response is cut, and passes or fails by its status. */
const MAX_RESPONSE_BYTES = 64 * 1024;

/** Dependencies of the check of an endpoint. */
export interface EndpointCheckOptions {
  /** Identifies the endpoint and how it is checked, for all threads. */
  readonly id: string;
  /** The backend in messages. */
  readonly backend: string;
  /** Such as `10.0.0.1:80`. */
  readonly endpoint: string;
  readonly settings: HealthCheck;
  /** Used by checks only, so that they do not wait for requests. */
  readonly upstream: Upstream;
  readonly turns: HealthTurns;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the endpoint begins to pass or fail. */
  readonly onVerdict: (isPassing: boolean) => void;
}

/** Checks one endpoint until it is stopped, in turns with other threads that do the same. */
export class EndpointCheck {
  readonly #options: EndpointCheckOptions;
  #isStopped = false;
  /** The check under way. */
  #cancellation: Cancellation | undefined;
  #cancelTimer: (() => void) | undefined;
  #verdict: Verdict | undefined;
  /** Checks that this thread made. */
  readonly counts = { passed: 0, failed: 0 };

  constructor(options: EndpointCheckOptions) {
    this.#options = options;
    this.#schedule(0);
  }

  /** `undefined` before the first check. */
  get verdict(): Verdict | undefined {
    return this.#verdict;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
    this.#cancellation?.cancel(stopped);
    this.#options.upstream.close();
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancelTimer = this.#options.clock.setTimer(
      () => void this.#run(),
      delayMs,
    );
  }

  async #run(): Promise<void> {
    const { turns, id, settings, log } = this.#options;
    let dueInMs = settings.intervalMs;
    try {
      let turn = await turns.take(id, settings);
      if (turn.dueInMs === 0 && !this.#isStopped) {
        const failure = await this.#check();
        if (this.#isStopped) return;
        this.counts[failure === null ? "passed" : "failed"]++;
        turn = await turns.report(id, settings, failure);
        this.#report(turn);
      }
      this.#apply(turn);
      dueInMs = turn.dueInMs;
    } catch (error) {
      // The thread that keeps the records does not respond.
      log.debug("Cannot check an endpoint", { id, error });
    }
    this.#schedule(dueInMs);
  }

  #apply({ verdict }: CheckTurn): void {
    const before = this.#verdict?.isPassing;
    this.#verdict = verdict;
    if (verdict === undefined || verdict.isPassing === before) return;
    if (!this.#isStopped) this.#options.onVerdict(verdict.isPassing);
  }

  #report({ verdict, hasChanged }: CheckTurn): void {
    if (hasChanged !== true || verdict === undefined) return;
    const { log, backend, endpoint } = this.#options;
    const fields = { backend, endpoint };
    if (verdict.isPassing) log.info("Endpoint passes its checks", fields);
    else {
      log.warn("Endpoint fails its checks and gets no requests", {
        ...fields,
        reason: verdict.failure ?? "",
      });
    }
  }

  /** Returns why the check failed; `null` when it passed. */
  async #check(): Promise<string | null> {
    const { settings: { timeoutMs, statuses }, clock, endpoint } =
      this.#options;
    const limit = {
      clock,
      limitMs: timeoutMs,
      code: "upstream_timeout",
      backend: endpoint,
    } as const;
    this.#cancellation = new Cancellation();
    try {
      const status = await withinLimit(
        this.#cancellation,
        limit,
        (cancellation) => this.#send(cancellation),
      );
      const isExpected = statuses?.includes(status) ??
        (status >= 200 && status < 300);
      return isExpected ? null : `The status is ${status}`;
    } catch (error) {
      return describeError(error);
    }
  }

  async #send(cancellation: Cancellation): Promise<number> {
    const { upstream, settings: { path, authority } } = this.#options;
    const { status, body } = await upstream.send(
      {
        method: "GET",
        authority,
        target: path,
        headers: HeaderList.from([["user-agent", "gateway-health-check"]]),
        upgrade: undefined,
        expectsContinue: false,
        sendInformational() {},
      },
      undefined,
      cancellation,
    );
    const cut = (reason: unknown) => body?.cancel(reason);
    const unsubscribe = cancellation.onCancel(cut);
    let bytes = 0;
    for (let chunk = await body?.read(); chunk; chunk = await body?.read()) {
      bytes += chunk.length;
      if (bytes <= MAX_RESPONSE_BYTES) continue;
      cut("long enough");
      break;
    }
    unsubscribe();
    if (cancellation.cancelled) throw cancellation.reason;
    return status;
  }
}

/** Dependencies of the checks of a backend. */
export interface ChecksOptions extends
  Pick<
    EndpointCheckOptions,
    "backend" | "settings" | "turns" | "clock" | "log"
  > {
  /** Equal for backends that connect in the same way. */
  readonly key: string;
  readonly connect: (
    endpoint: Endpoint,
    more: Partial<UpstreamOptions>,
  ) => Upstream;
}

/** Returns a function that starts the checks of an endpoint. */
export function createChecks({ key, connect, ...options }: ChecksOptions) {
  const digest = createHash("sha256").update(key).digest("base64");
  return (
    address: Endpoint,
    onVerdict: EndpointCheckOptions["onVerdict"],
  ): EndpointCheck => {
    const endpoint = formatHostPort(address.host, address.port);
    const upstream = connect(address, {
      maxConnections: 1,
      maxPendingRequests: 1,
    });
    const id = `${digest} ${endpoint}`;
    return new EndpointCheck({ ...options, id, endpoint, upstream, onVerdict });
  };
}

const stopped = new GatewayError(
  "upstream_closed",
  "gateway",
  "The endpoint is not used any more",
);
