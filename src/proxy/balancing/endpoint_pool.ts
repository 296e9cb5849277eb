import type { Clock } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import { formatHostPort } from "../../base/wire/host_port.ts";
import type { Log } from "../../base/log/log.ts";
import type { Upstream } from "../../http/client/upstream.ts";
import type { Balancing, Endpoint } from "../../snapshot/backend.ts";
import type { AttemptTarget } from "./attempt_target.ts";
import type { EndpointCheck } from "./health/endpoint_check.ts";
import { type Balance, createBalance } from "./balance.ts";
import { BalancedEndpoint } from "./balanced_endpoint.ts";
import { type EjectionReason, EndpointHealth } from "./endpoint_health.ts";

/** Dependencies of a pool. */
export interface EndpointPoolOptions {
  /** The backend in messages, such as `Service "default/web"`. */
  readonly name: string;
  readonly balancing: Balancing;
  readonly connect: (endpoint: Endpoint) => Upstream;
  /** Starts the checks of an endpoint; omitted when there are none. */
  readonly check?:
    | ((
      endpoint: Endpoint,
      onVerdict: (isPassing: boolean) => void,
    ) => EndpointCheck)
    | undefined;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Log;
}

/** Time after an ejection in which only requests that may be repeated try the endpoint. */
const UNREPEATABLE_MS = 60_000;

/**
 * The endpoints of a backend: chooses one for each attempt, and gives those that fail a rest.
 *
 * Requests see `#candidates` alone, which changes when the health of an endpoint does.
 */
export class EndpointPool {
  readonly #options: EndpointPoolOptions;
  readonly #balance: Balance;
  #byLabel = new Map<string, BalancedEndpoint>();
  /** Endpoints that get the requests as long as one of them is healthy. */
  #preferred: readonly BalancedEndpoint[] = [];
  #candidates: readonly BalancedEndpoint[] = [];
  /** Monotonic time at which the first ejected endpoint may be tried again. */
  #returnsAt = Infinity;
  #isFilled = false;

  constructor(options: EndpointPoolOptions) {
    this.#options = options;
    this.#balance = createBalance(options.balancing.policy, options.random);
  }

  /** All endpoints, also those without requests. */
  get endpoints(): Iterable<BalancedEndpoint> {
    return this.#byLabel.values();
  }

  get size(): number {
    return this.#byLabel.size;
  }

  /**
   * Makes `endpoints` those of all attempts from now on. Known ones keep connections and health; requests at those that are gone
   * finish.
   * @param preferred Number of endpoints, from the first, that get requests as long as one of them is healthy; default: all.
   */
  update(endpoints: readonly Endpoint[], preferred = endpoints.length): void {
    const before = this.#byLabel;
    const now = new Map<string, BalancedEndpoint>();
    for (const endpoint of endpoints) {
      const label = formatHostPort(endpoint.host, endpoint.port);
      if (now.has(label)) continue;
      now.set(label, before.get(label) ?? this.#add(endpoint));
    }
    this.#byLabel = now;
    this.#preferred = [...now.values().take(preferred)];
    this.#isFilled ||= now.size > 0;
    for (const endpoint of now.values()) endpoint.hasPeers = now.size > 1;
    this.#refresh();
    for (const [label, endpoint] of before) {
      if (!now.has(label)) endpoint.retire();
    }
  }

  /**
   * Chooses the endpoint for an attempt: a healthy one that was not tried, if there is one.
   * @param tried Endpoints of the earlier attempts.
   * @param key Hash of the request, for consistent hashing.
   * @param mayRepeat The request can be sent again if its attempt fails, so it may try an endpoint whose ejection is over.
   * @throws {GatewayError} `no_endpoints`
   */
  choose(
    tried: readonly AttemptTarget[],
    key: number | undefined,
    mayRepeat = true,
  ): BalancedEndpoint {
    const chosen = tried.length === 0
      ? this.#takeReturning(mayRepeat) ?? this.#chooseResponsive(key)
      : this.#chooseAnother(tried, key);
    if (chosen !== undefined) return chosen;
    throw new GatewayError(
      "no_endpoints",
      "upstream",
      `No endpoint of ${this.#options.name} is ready`,
    );
  }

  /** Finds an endpoint by its hash. */
  find(hash: number): BalancedEndpoint | undefined {
    return this.#byLabel.values().find((each) => each.hash === hash);
  }

  /** Reports whether an endpoint passes its checks, or no other one does either. */
  isUsable(endpoint: BalancedEndpoint): boolean {
    return endpoint.health.state !== "unhealthy" ||
      this.#candidates.includes(endpoint);
  }

  /** Reports whether an endpoint is left that is not in `tried`. */
  hasAnother(tried: readonly AttemptTarget[]): boolean {
    return this.#byLabel.values().some((each) => !tried.includes(each));
  }

  /** Closes idle connections now and the others after their requests. */
  retire(): void {
    for (const endpoint of this.endpoints) endpoint.retire();
  }

  /** Closes all connections. */
  close(): void {
    for (const endpoint of this.endpoints) endpoint.close();
  }

  #chooseAnother(
    tried: readonly AttemptTarget[],
    key: number | undefined,
  ): BalancedEndpoint | undefined {
    const isNew = (each: BalancedEndpoint) => !tried.includes(each);
    return this.#balance(this.#candidates.filter(isNew), key) ??
      this.#balance([...this.endpoints].filter(isNew), key) ??
      this.#balance(this.#candidates, key);
  }

  /** Chooses a candidate; one that has stopped responding is none any more. */
  #chooseResponsive(key: number | undefined): BalancedEndpoint | undefined {
    for (;;) {
      const chosen = this.#balance(this.#candidates, key);
      if (chosen?.health.ejectIfSilent() !== true) return chosen;
    }
  }

  /** Returns an endpoint whose ejection is over: this request decides whether it stays. */
  #takeReturning(mayRepeat: boolean): BalancedEndpoint | undefined {
    if (this.#returnsAt === Infinity) return undefined;
    const now = this.#options.clock.monotonic();
    if (now < this.#returnsAt) return undefined;
    const due = this.#byLabel.values().find(({ health }) => {
      const delayMs = mayRepeat || health.isSafeToTry ? 0 : UNREPEATABLE_MS;
      return health.returnsAt + delayMs <= now;
    });
    due?.health.probe();
    return due;
  }

  #add(endpoint: Endpoint): BalancedEndpoint {
    const { connect, check, clock, balancing, log, name } = this.#options;
    const health: EndpointHealth = new EndpointHealth({
      clock,
      ejection: balancing.ejection,
      mayEject: (reason) => this.#mayEject(added, reason),
      onChange: () => {
        log.debug("Endpoint changed", {
          backend: name,
          endpoint: added.label,
          state: health.state,
        });
        this.#refresh();
      },
    });
    const upstream = connect(endpoint);
    const added: BalancedEndpoint = new BalancedEndpoint(endpoint, {
      upstream,
      health,
      clock,
    });
    const warmUp = () => {
      if (balancing.slowStartMs > 0) added.warmUp(balancing.slowStartMs);
    };
    if (this.#isFilled) {
      warmUp();
      // It gets requests once it passes its first check.
      if (check !== undefined) health.checked(false);
    }
    added.check = check?.(endpoint, (isPassing) => {
      if (isPassing && health.state === "unhealthy") warmUp();
      health.checked(isPassing);
    });
    return added;
  }

  /** The last endpoint stays; responses, which clients may provoke, eject no more than a part. */
  #mayEject(endpoint: BalancedEndpoint, reason: EjectionReason): boolean {
    const others =
      this.#byLabel.values().filter((each) =>
        each !== endpoint && isHealthy(each)
      ).toArray().length;
    if (others === 0) return false;
    if (reason === "connect_failures") return true;
    const { ejection } = this.#options.balancing;
    const share = (this.size - others) / this.size;
    return 100 * share <= ejection.maxPercent;
  }

  #refresh(): void {
    const preferred = this.#preferred.filter(isHealthy);
    const healthy = preferred.length > 0
      ? preferred
      : [...this.endpoints].filter(isHealthy);
    // A backend whose endpoints all fail may be well for some requests.
    this.#candidates = [
      healthy,
      [...this.endpoints].filter(({ health }) => health.state !== "unhealthy"),
      [...this.endpoints],
    ].find(({ length }) => length > 0) ?? [];
    this.#returnsAt = Math.min(
      Infinity,
      ...this.#byLabel.values().map(({ health }) => health.returnsAt),
    );
  }
}

function isHealthy({ health }: BalancedEndpoint): boolean {
  return health.state === "healthy";
}
