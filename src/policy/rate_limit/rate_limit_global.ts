import type { GlobalRateLimit } from "./rate_limit_schema.ts";
import { describeError } from "../../base/errors.ts";
import type { Variables } from "../cel/variables.ts";
import type { BudgetDefinition, Use } from "../../ratelimit/budget/budget.ts";
import type {
  DescriptorReading,
  DescriptorUse,
  GlobalLimiter,
  LimiterAdmission,
  LimiterDecision,
  LimiterRejection,
} from "../../ratelimit/limiter/global_limiter.ts";
import { type BodyUse, joinBodyUses } from "../expressions/body_variables.ts";
import type { PolicyContext } from "../contract/policy.ts";
import { GlobalCharges } from "./global_charges.ts";
import { budgetsOf } from "./rate_limit_budget.ts";
import {
  compileCondition,
  compileValue,
  type LimitDependencies,
  type LimitExpression,
} from "./rate_limit_expression.ts";
import { nameDescriptors } from "./rate_limit_names.ts";

/** A request that a `global` block admitted. */
export interface GlobalAdmission extends Omit<LimiterAdmission, "verdict"> {
  readonly verdict: "admitted";
  /** Error that left the limit undecided; the failure mode then admitted the request. */
  readonly error?: string;
  /** Ends what was held, and charges what the request used. Called at most once. */
  settle(use: Use): void;
  /**
   * Charges a part of what the request uses, and holds the next one in its place; returns whether a budget is used up, or nobody knows.
   * @param next Most that the next part is expected to use; `undefined` for the last one.
   */
  charge(use: Use, next: Use | undefined): boolean | Promise<boolean>;
  /** Refunds the charges after another limit has rejected the request. */
  refund(): void;
}

/** The verdict of one `global` block; `failed` only where the failure mode is `Closed`. */
export type GlobalVerdict = GlobalAdmission | LimiterRejection | {
  readonly verdict: "failed";
  /** For the log. */
  readonly message: string;
};

/** Value of an entry that cannot be evaluated, with failure mode `Open`. */
const UNKNOWN_VALUE = "unknown";

interface Descriptor extends Omit<DescriptorUse, "entries" | "owner"> {
  readonly owner: string | undefined;
  readonly when: LimitExpression<boolean> | undefined;
  readonly entries: readonly {
    readonly key: string;
    /** Redacted key, for log and trace. */
    readonly shown: string;
    readonly value: LimitExpression<string | undefined>;
  }[];
}

/** Dependencies of a `global` block. */
interface GlobalLimitDependencies extends LimitDependencies {
  /** See `RateLimitLayer`. */
  readonly owners?: readonly string[] | undefined;
}

/** One `global` block. */
export class GlobalLimits {
  readonly bodyUse: BodyUse | undefined;
  /** Units that it counts. */
  readonly units: readonly BudgetDefinition["unit"][];
  /** True if it holds what requests are expected to use. */
  readonly reserves: boolean;
  readonly domain: string;
  readonly #names: readonly string[];
  readonly #limiter: GlobalLimiter;
  readonly #isOpen: boolean;
  readonly #descriptors: readonly Descriptor[];
  /** True if all requests count against the same budgets. */
  readonly #isFixed: boolean;
  /** Those budgets, once a request has counted against them. */
  #fixed: readonly DescriptorUse[] | undefined;

  constructor(
    config: GlobalRateLimit,
    limiter: GlobalLimiter,
    dependencies: GlobalLimitDependencies,
  ) {
    const { domain, descriptors, failureMode } = config;
    const { owners } = dependencies;
    this.domain = domain;
    this.#names = nameDescriptors(config, dependencies.hide);
    this.#limiter = limiter;
    this.#isOpen = failureMode === "Open";
    this.#descriptors = budgetsOf(descriptors).flatMap((budget, index) => {
      const config = descriptors[index];
      return config === undefined ? [] : [{
        ...compileDescriptor(config, index, budget, dependencies),
        name: this.#nameAt(index),
        owner: owners?.[index],
      }];
    });
    this.#isFixed = this.#descriptors.every(({ when, entries }) =>
      when === undefined && entries.every(({ value }) => value.isConstant)
    );
    this.reserves = this.#descriptors.some(({ budget }) =>
      budget.reserves === true
    );
    this.units = this.#descriptors.map(({ budget }) => budget.unit);
    this.bodyUse = joinBodyUses(
      this.#descriptors.flatMap(({ when, entries }) =>
        [when, ...entries.map(({ value }) => value)].map((each) =>
          each?.bodyUse
        )
      ),
    );
  }

  /** Returns the name of the limit of a reading within its domain, such as `100 requests per minute, by user`. */
  nameOf({ index }: DescriptorReading): string {
    return this.#nameAt(index);
  }

  /** Returns whose limit a reading is: that of an owner, such as `team blue`, or of the domain. */
  ownerOf({ index }: DescriptorReading): string {
    return this.#descriptors[index]?.owner ?? `domain "${this.domain}"`;
  }

  /** Returns the values of the entries of a reading, without secrets: `user=anna`. */
  shownKey({ index }: DescriptorReading, variables: Variables): string {
    const { entries = [] } = this.#descriptors[index] ?? {};
    return entries.map(({ shown, value }) =>
      `${shown}=${value.shownValue(variables)}`
    ).join(", ");
  }

  #nameAt(index: number): string {
    return this.#names[index] ?? `descriptor ${index}`;
  }

  /** Returns the names of limits that only warn and that the request exceeds. */
  exceededBy({ readings }: GlobalAdmission): readonly string[] {
    return readings.filter(({ index, remaining }) =>
      remaining === 0 && this.#descriptors[index]?.budget.isSoft === true
    ).map((reading) => this.nameOf(reading));
  }

  /** Decides whether a request is admitted; without a promise when nothing has to be awaited. */
  admit(
    variables: Variables,
    context: PolicyContext,
    expected: Use,
  ): GlobalVerdict | Promise<GlobalVerdict> {
    // A trace shows the values of the entries.
    const known = context.trace === undefined ? this.#fixed : undefined;
    const uses = known ?? this.#usesOf(variables, context);
    if (typeof uses === "string") return notEvaluated(uses);
    if (uses.length === 0) return nothingCounted;
    const decision = this.#limiter.admit(uses, expected);
    return decision instanceof Promise
      ? decision.then((decided) => this.#judge(uses, decided, expected))
      : this.#judge(uses, decision, expected);
  }

  /** Evaluates the entries; returns the key of one without a value, unless the failure mode is `Open`. */
  #usesOf(
    variables: Variables,
    context: PolicyContext,
  ): readonly DescriptorUse[] | string {
    const uses: DescriptorUse[] = [];
    let isFixed = this.#isFixed;
    for (const descriptor of this.#descriptors) {
      const { index, name = "", budget, owner, when, entries } = descriptor;
      if (when?.read(variables, context) === false) continue;
      const values: [string, string][] = [];
      for (const { key, shown, value } of entries) {
        const result = value.read(variables, context);
        // Each failure is logged and counted.
        if (result === undefined) isFixed = false;
        if (result !== undefined) values.push([key, result]);
        else if (this.#isOpen) values.push([key, UNKNOWN_VALUE]);
        else return shown;
      }
      const use = { index, name, budget, entries: values };
      uses.push(owner === undefined ? use : { ...use, owner });
    }
    if (isFixed) this.#fixed = uses;
    return uses;
  }

  #judge(
    uses: readonly DescriptorUse[],
    decision: LimiterDecision,
    expected: Use,
  ): GlobalVerdict {
    switch (decision.verdict) {
      case "admitted": {
        const { takenAt } = decision;
        const charges = new GlobalCharges(uses, { takenAt, expected }, {
          limiter: this.#limiter,
          isOpen: this.#isOpen,
        });
        return {
          ...decision,
          settle: (use) => charges.settle(use),
          charge: (use, next) => charges.charge(use, next),
          refund: () => charges.refund(),
        };
      }
      case "refused":
        return decision;
      case "failed": {
        const error = `The limiter failed: ${describeError(decision.error)}`;
        if (!this.#isOpen) return { verdict: "failed", message: error };
        // The usage still counts once the limiter is available again.
        const settle = (use: Use) => this.#limiter.debit(uses, use);
        const charge = (use: Use) => {
          settle(use);
          return false;
        };
        return { ...nothingCounted, error, settle, charge };
      }
    }
  }
}

const nothingCounted: GlobalAdmission = {
  verdict: "admitted",
  readings: [],
  settle() {},
  charge: () => false,
  refund() {},
};

function notEvaluated(key: string): GlobalVerdict {
  const message = `Descriptor entry "${key}" has no value`;
  return { verdict: "failed", message };
}

function compileDescriptor(
  config: GlobalRateLimit["descriptors"][number],
  index: number,
  budget: BudgetDefinition,
  dependencies: LimitDependencies,
): Omit<Descriptor, "owner"> {
  const { when, entries } = config;
  return {
    index,
    budget,
    when: when === undefined ? undefined : compileCondition(when, dependencies),
    entries: entries.map(({ key, value }) => ({
      key,
      shown: dependencies.hide(key),
      value: compileValue(value, dependencies),
    })),
  };
}
