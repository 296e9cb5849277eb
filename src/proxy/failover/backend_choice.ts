import { GatewayError } from "../../base/errors.ts";
import type {
  BackendGroup,
  Route,
  WeightedBackend,
} from "../../snapshot/snapshot.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { isRepeatable } from "./retry.ts";
import type { RequestedModel } from "../../policy/expressions/llm_variable.ts";
import type { Cooldowns } from "./cooldowns.ts";
import { pickBackend, type PickOptions } from "./pick_backend.ts";

/** A request to a route with several backends. */
export interface GroupedRequest {
  readonly exchange: Exchange;
  readonly route: Route;
  /** By priority, the first one first. */
  readonly groups: readonly BackendGroup[];
  /** Gets the request first, unless it rests. */
  readonly preferred?: WeightedBackend | undefined;
}

/** Dependencies of choosing backends. */
export interface BackendChoiceOptions extends Omit<PickOptions, "models"> {
  readonly cooldowns: Cooldowns;
}

/** Chooses the backends of one request: by priority, and as the route says among those that do not rest. */
export class BackendChoice {
  /** The request can be sent again when a backend has failed that may have processed it. */
  readonly mayRepeat: boolean;
  /** Model that the request names. */
  readonly requested: RequestedModel;
  readonly #request: GroupedRequest;
  readonly #options: BackendChoiceOptions;
  readonly #tried = new Set<WeightedBackend>();
  #reason: string | undefined;

  constructor(
    request: GroupedRequest,
    requested: RequestedModel,
    options: BackendChoiceOptions,
  ) {
    this.#request = request;
    this.requested = requested;
    this.#options = options;
    this.mayRepeat = request.route.replaysFailures === true ||
      isRepeatable(request.exchange.request);
  }

  /**
   * Chooses the first backend; if all rest, the one whose rest ends first.
   * @throws {GatewayError} `invalid_backend` when no backend has a weight.
   */
  first(): WeightedBackend {
    const { groups, preferred } = this.#request;
    const chosen = preferred !== undefined && this.#restOf(preferred) === 0
      ? preferred
      : this.#choose() ??
        groups.flatMap(({ backends }) => backends.filter(hasWeight))
          .toSorted((a, b) => this.#restOf(a) - this.#restOf(b))[0];
    if (chosen === undefined) {
      throw new GatewayError(
        "invalid_backend",
        "gateway",
        "No backend of the route has a weight",
      );
    }
    this.#tried.add(chosen);
    return chosen;
  }

  /** Chooses a backend that was not tried; `undefined` when none is left that does not rest. */
  next(): WeightedBackend | undefined {
    const chosen = this.#choose();
    if (chosen !== undefined) this.#tried.add(chosen);
    return chosen;
  }

  /** Reason for which the latest backend was chosen; `undefined` where weights decide. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Lists the keys of the backends that were not tried, because they rest. */
  passedOver(): readonly string[] {
    return this.#request.groups.flatMap(({ backends }) =>
      backends.flatMap((each) =>
        !this.#tried.has(each) && this.#restOf(each) > 0 && each.backend
          ? [each.backend.key]
          : []
      )
    );
  }

  /** Reports whether a backend is left. */
  hasNext(): boolean {
    return this.#request.groups.some(({ backends }) =>
      backends.some((each) => this.#isLeft(each))
    );
  }

  /** Chooses among the backends of the first group that has one which was not tried and does not rest. */
  #choose(): WeightedBackend | undefined {
    const { route: { choice }, exchange: { trace } } = this.#request;
    const { policy = "Weighted" } = choice ?? {};
    const { models } = this.#options.cooldowns;
    for (const { backends } of this.#request.groups) {
      const left = backends.filter((each) => this.#isLeft(each));
      const { chosen, compared } = pickBackend(left, policy, this.requested, {
        ...this.#options,
        models,
      });
      if (chosen === undefined) continue;
      if (Object.keys(compared).length > 0) {
        this.#reason = `${policy} chose ${chosen.backend?.key}: ${
          Object.entries(compared).map(([key, value]) => `${key} ${value}`)
            .join("; ")
        }`;
        const to = chosen.backend?.key ?? null;
        const details = { policy, to, compared };
        trace?.policies.report({
          type: "policyEvent",
          kind: "load_balancing",
          details,
        });
      }
      return chosen;
    }
    return undefined;
  }

  /** A reference that does not resolve keeps its share, and is nobody's alternative (Gateway API, `HTTPRouteRule.backendRefs`). */
  #isLeft(each: WeightedBackend): boolean {
    const isAlternative = this.#tried.size === 0 || each.backend !== undefined;
    return isAlternative && hasWeight(each) && !this.#tried.has(each) &&
      this.#restOf(each) === 0;
  }

  #restOf({ backend }: WeightedBackend): number {
    const { model } = this.requested;
    return backend === undefined
      ? 0
      : this.#options.cooldowns.remainingMs(backend, this.mayRepeat, model);
  }
}

function hasWeight({ weight }: WeightedBackend): boolean {
  return weight > 0;
}
