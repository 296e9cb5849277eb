import type { GlobalRateLimit, RateLimit } from "./rate_limit_schema.ts";
import type { Hide } from "../../base/redaction.ts";
import { describeServiceProblems } from "../../ratelimit/service/service_budgets.ts";
import {
  type Accepted,
  compileOnce,
  condition,
  decisionProblem,
  typeProblem,
} from "../expressions/expression_checks.ts";
import type { CheckOptions, PolicyProblem } from "../contract/policy_kind.ts";
import { budgetOf } from "./rate_limit_budget.ts";

/** Finds expressions that no limit can use, and descriptors that a rate limit service cannot enforce. */
export function checkRateLimit(
  { local = [], global }: RateLimit,
  { hide }: Pick<CheckOptions, "hide">,
): readonly PolicyProblem[] {
  const problemsOf = problemFinder(hide);
  return [
    ...(global === undefined ? [] : serviceProblems(global)),
    ...local.flatMap(({ key, when, weight }, index) => [
      ...problemsOf(key, ["local", index, "key"], name),
      ...problemsOf(when, ["local", index, "when"], condition),
      ...problemsOf(weight, ["local", index, "weight"], number),
    ]),
    ...(global?.descriptors ?? []).flatMap(({ when, entries }, index) => {
      const path = ["global", "descriptors", index];
      return [
        ...problemsOf(when, [...path, "when"], condition),
        ...entries.flatMap(({ value }, place) =>
          problemsOf(value, [...path, "entries", place, "value"], name)
        ),
      ];
    }),
  ];
}

/** Finds descriptors that a rate limit service cannot enforce. */
function serviceProblems(
  { store, descriptors }: GlobalRateLimit,
): readonly PolicyProblem[] {
  if (store === "KV") return [];
  const problems = describeServiceProblems(
    descriptors.map((config) => ({
      budget: budgetOf(config),
      keys: config.entries.map(({ key }) => key),
    })),
  );
  return problems.map(({ index, problem }) => ({
    path: ["global", "descriptors", index],
    message: `Cannot use this descriptor: a rate limit service ${problem}`,
  }));
}

const name: Accepted = {
  types: ["string", "number", "boolean"],
  text: "a string, a number or a boolean",
};

const number: Accepted = { types: ["number"], text: "a number" };

function problemFinder(hide: Hide) {
  return (
    text: string | undefined,
    path: PolicyProblem["path"],
    accepted: Accepted,
  ): readonly PolicyProblem[] => {
    if (text === undefined) return [];
    const compiled = compileOnce(text, hide);
    const problem = decisionProblem(compiled, path) ??
      typeProblem(compiled, path, accepted);
    return problem === undefined ? [] : [problem];
  };
}
