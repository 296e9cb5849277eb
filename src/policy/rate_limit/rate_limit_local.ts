import type { LocalLimit } from "./rate_limit_schema.ts";
import type { Variables } from "../cel/variables.ts";
import type { BudgetDefinition } from "../../ratelimit/budget/budget.ts";
import type { Budget, Limit } from "../../ratelimit/local/counter_store.ts";
import { type BodyUse, joinBodyUses } from "../expressions/body_variables.ts";
import type { PolicyContext } from "../contract/policy.ts";
import type { RateLimitServices } from "./rate_limit_services.ts";
import { budgetOf } from "./rate_limit_budget.ts";
import {
  compileCondition,
  compileKey,
  compileWeight,
  type LimitDependencies,
  type LimitExpression,
} from "./rate_limit_expression.ts";
import {
  describeLimit,
  describeLimitKind,
  LimitNames,
} from "./rate_limit_names.ts";

/** Local limits and what they are attached to, such as `Gateway/default/default`. */
export interface ScopedLimits {
  readonly scope: string;
  readonly limits: readonly LocalLimit[];
}

interface Entry {
  readonly limit: Limit;
  readonly key: LimitExpression<string> | undefined;
  readonly when: LimitExpression<boolean> | undefined;
  readonly weight: LimitExpression<number> | undefined;
}

/** The local limits of a route, its own and its gateway's. */
export class LocalLimits {
  readonly #entries: readonly Entry[];
  /** Budgets of every request; `undefined` when they depend on the request. */
  readonly fixed: readonly Budget[] | undefined;
  readonly bodyUse: BodyUse | undefined;
  /** Units that it counts. */
  readonly units: readonly BudgetDefinition["unit"][];
  /** True if it holds what requests are expected to use. */
  readonly reserves: boolean;

  constructor(
    scoped: readonly ScopedLimits[],
    dependencies: LimitDependencies & Pick<RateLimitServices, "counters">,
  ) {
    this.#entries = compileEntries(scoped, dependencies);
    const depends = this.#entries.some(({ key, when, weight }) =>
      key ?? when ?? weight
    );
    const definitions = this.#entries.map(({ limit }) => limit.definition);
    this.reserves = definitions.some(({ reserves }) => reserves === true);
    this.fixed = depends
      ? undefined
      : this.#entries.map(({ limit }) => limit.budget("", 0));
    this.bodyUse = joinBodyUses(
      this.#entries.flatMap(({ key, when, weight }) =>
        [key, when, weight].map((each) => each?.bodyUse)
      ),
    );
    this.units = definitions.map(({ unit }) => unit);
  }

  /** All configured limits. */
  get limits(): readonly Limit[] {
    return this.#entries.map(({ limit }) => limit);
  }

  /** Returns the key of a request for a limit, without secrets; `undefined` for a limit without keys. */
  shownKey(limit: Limit, variables: Variables): string | undefined {
    return this.#entries.find((entry) => entry.limit === limit)?.key
      ?.shownValue(variables);
  }

  /** Returns the budgets that a request counts against. */
  budgets(
    variables: Variables,
    context: PolicyContext,
    now: number,
  ): readonly Budget[] {
    const budgets: Budget[] = [];
    for (const { limit, key, when, weight } of this.#entries) {
      if (when?.read(variables, context) === false) continue;
      const name = key === undefined ? "" : key.read(variables, context);
      budgets.push(limit.budget(name, now, weight?.read(variables, context)));
    }
    return budgets;
  }
}

function compileEntries(
  scoped: readonly ScopedLimits[],
  dependencies: LimitDependencies & Pick<RateLimitServices, "counters">,
): Entry[] {
  const { counters, hide } = dependencies;
  const names = new LimitNames();
  const kinds = new LimitNames();
  return scoped.flatMap(({ scope, limits }) =>
    limits.map((config) => {
      const words = kinds.add(describeLimitKind(config), scope);
      const name = names.add(describeLimit(config, hide), scope);
      const { key, when, weight } = config;
      const definition = budgetOf(config);
      const capacity = definition.base + definition.burst;
      return {
        limit: counters.limit(
          { scope, name, words, isKeyed: key !== undefined },
          definition,
        ),
        key: key === undefined ? undefined : compileKey(key, dependencies),
        when: when === undefined
          ? undefined
          : compileCondition(when, dependencies),
        weight: weight === undefined
          ? undefined
          : compileWeight(weight, capacity, dependencies),
      };
    })
  );
}
