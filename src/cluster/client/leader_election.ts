import { type Clock, pause } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log/log.ts";
import { objectAt } from "../../base/json.ts";
import { ApiError, type KubernetesApi } from "./kubernetes_api.ts";
import {
  isKubernetesObject,
  type KubernetesObject,
} from "./kubernetes_object.ts";

/** An election among the processes that name the same Lease. */
export interface ElectionOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly log: Log;
  /** Name and namespace of the Lease. */
  readonly name: string;
  readonly namespace: string;
  /** Unique among the candidates, such as the name of the pod. */
  readonly identity: string;
  /** Time after which others take over from a leader that does not renew; default 15 s. */
  readonly durationMs?: number;
  /** Time after which a leader that cannot renew stops leading; default 10 s. */
  readonly renewDeadlineMs?: number;
  /** Time between two attempts; default 2 s. */
  readonly retryMs?: number;
  /** Starts leading; `signal` aborts when another may lead. */
  readonly lead: (signal: AbortSignal) => void;
}

/**
 * Takes part in the election until `signal` aborts, then lets go of the Lease.
 *
 * Works as client-go does: clocks of different machines are never compared. A Lease is stale when it has not changed for its
 * duration, measured here. https://pkg.go.dev/k8s.io/client-go/tools/leaderelection
 */
export async function runElection(
  options: ElectionOptions,
  signal: AbortSignal,
): Promise<void> {
  const candidate = new Candidate(options);
  while (!signal.aborted) {
    await candidate.attempt();
    await pause(options.clock, options.retryMs ?? 2000, signal);
  }
  await candidate.release();
}

const CONFLICT = 409;

class Candidate {
  readonly #options: ElectionOptions;
  readonly #durationMs: number;
  readonly #renewDeadlineMs: number;
  readonly #collection: string;
  #seenVersion = "";
  #seenAt = 0;
  #renewedAt = 0;
  #leading: AbortController | undefined;
  #problem = "";

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#durationMs = options.durationMs ?? 15_000;
    this.#renewDeadlineMs = options.renewDeadlineMs ?? 10_000;
    this.#collection =
      `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`;
  }

  /** Takes or renews the Lease if it can; stops leading when it could not for too long. */
  async attempt(): Promise<void> {
    const { clock, log, lead } = this.#options;
    const startedAt = clock.monotonic();
    try {
      if (await this.#takeOrRenew()) {
        this.#renewedAt = startedAt;
        if (this.#leading === undefined) {
          this.#leading = new AbortController();
          log.info("Leading");
          lead(this.#leading.signal);
        }
      } else {
        this.#stopLeading("another process holds the lease");
      }
      this.#problem = "";
    } catch (error) {
      // One line for each problem, such as a right that is missing; conflicts with other candidates are normal.
      const problem = describeError(error);
      const isNormal = error instanceof ApiError && error.code === CONFLICT;
      const level = isNormal || problem === this.#problem ? "debug" : "warn";
      this.#problem = problem;
      log[level]("Cannot take or renew the lease", { error });
    }
    if (clock.monotonic() - this.#renewedAt > this.#renewDeadlineMs) {
      this.#stopLeading("the lease could not be renewed in time");
    }
  }

  /** Stops leading, and lets another process take over at once. */
  async release(): Promise<void> {
    if (this.#leading === undefined) return;
    this.#stopLeading("stopped");
    const { api, identity, log } = this.#options;
    try {
      const lease = await this.#read();
      if (
        lease === undefined ||
        objectAt(lease, "spec")["holderIdentity"] !== identity
      ) {
        return;
      }
      await api.request({
        method: "PUT",
        path: this.#path,
        body: {
          ...lease,
          spec: {
            ...objectAt(lease, "spec"),
            holderIdentity: "",
            leaseDurationSeconds: 1,
          },
        },
      });
    } catch (error) {
      log.warn("Cannot release the lease: others wait until it expires", {
        error,
      });
    }
  }

  #stopLeading(reason: string): void {
    if (this.#leading === undefined) return;
    this.#options.log.info("No longer leading", { reason });
    this.#leading.abort();
    this.#leading = undefined;
  }

  get #path(): string {
    return `${this.#collection}/${this.#options.name}`;
  }

  async #read(): Promise<KubernetesObject | undefined> {
    const lease = await this.#options.api.find({ path: this.#path });
    if (lease === undefined || isKubernetesObject(lease)) return lease;
    throw new TypeError("The API server sent an invalid Lease");
  }

  async #takeOrRenew(): Promise<boolean> {
    const { api, clock, identity, name, namespace } = this.#options;
    const lease = await this.#read();
    const now = formatMicroTime(clock.now());
    if (lease === undefined) {
      await api.request({
        method: "POST",
        path: this.#collection,
        body: {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: { name, namespace },
          spec: this.#spec(now, now, 0),
        },
      });
      return true;
    }
    const spec = objectAt(lease, "spec");
    const isOurs = spec["holderIdentity"] === identity;
    if (!isOurs && !this.#isFree(lease)) return false;
    const transitions = Number(spec["leaseTransitions"] ?? 0);
    const acquired = spec["acquireTime"];
    // The API server responds with 409 when another process was faster.
    const written = await api.request({
      method: "PUT",
      path: this.#path,
      body: {
        ...lease,
        spec: isOurs && typeof acquired === "string"
          ? this.#spec(acquired, now, transitions)
          : this.#spec(now, now, transitions + 1),
      },
    });
    if (isKubernetesObject(written)) this.#see(written);
    return true;
  }

  #spec(acquireTime: string, renewTime: string, leaseTransitions: number) {
    return {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: Math.max(1, Math.ceil(this.#durationMs / 1000)),
      acquireTime,
      renewTime,
      leaseTransitions,
    };
  }

  #isFree(lease: KubernetesObject): boolean {
    this.#see(lease);
    const { holderIdentity, leaseDurationSeconds } = objectAt(lease, "spec");
    if (typeof holderIdentity !== "string" || holderIdentity === "") {
      return true;
    }
    const durationMs = typeof leaseDurationSeconds === "number"
      ? leaseDurationSeconds * 1000
      : this.#durationMs;
    return this.#options.clock.monotonic() - this.#seenAt >= durationMs;
  }

  #see({ metadata: { resourceVersion = "" } }: KubernetesObject): void {
    if (resourceVersion === this.#seenVersion) return;
    this.#seenVersion = resourceVersion;
    this.#seenAt = this.#options.clock.monotonic();
  }
}

/** Formats a `MicroTime`: RFC 3339 with six digits. */
function formatMicroTime(time: number): string {
  return new Date(time).toISOString().replace("Z", "000Z");
}
