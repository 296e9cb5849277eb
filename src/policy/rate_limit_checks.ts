import type { GlobalLimit, RateLimit } from "../api/rate_limit.ts";
import { describeServiceProblems } from "../ratelimit/service_budgets.ts";
import { ruleProblem } from "./authorization_rule.ts";
import type { PolicyProblem } from "./policy_kind.ts";
import { budgetOf } from "./rate_limit_budget.ts";

/** What is wrong with the expressions of the limits, and what a rate limit service cannot do. */
export function checkRateLimit(
  { local = [], global }: RateLimit,
): readonly PolicyProblem[] {
  return [
    ...(global === undefined ? [] : serviceProblems(global)),
    ...local.flatMap(({ key, when }, index) => [
      ...problemsOf(key, ["local", index, "key"]),
      ...problemsOf(when, ["local", index, "when"]),
    ]),
    ...(global?.descriptors ?? []).flatMap(({ when, entries }, index) => {
      const path = ["global", "descriptors", index];
      return [
        ...problemsOf(when, [...path, "when"]),
        ...entries.flatMap(({ value }, place) =>
          problemsOf(value, [...path, "entries", place, "value"])
        ),
      ];
    }),
  ];
}

/** What a rate limit service cannot do as configured. */
function serviceProblems(
  { store, descriptors }: GlobalLimit,
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

function problemsOf(
  text: string | undefined,
  path: PolicyProblem["path"],
): readonly PolicyProblem[] {
  if (text === undefined) return [];
  const problem = ruleProblem(text, path);
  return problem === undefined ? [] : [problem];
}
