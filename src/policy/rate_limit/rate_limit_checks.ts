import type {
  GlobalRateLimit,
  RateLimit,
} from "../../api/policies/rate_limit_schema.ts";
import { describeServiceProblems } from "../../ratelimit/service/service_budgets.ts";
import {
  type Accepted,
  condition,
  decisionProblem,
  typeProblem,
} from "../expressions/expression_checks.ts";
import type { PolicyProblem } from "../policy_kind.ts";
import { budgetOf } from "./rate_limit_budget.ts";

/** What is wrong with the expressions of the limits, and what a rate limit service cannot do. */
export function checkRateLimit(
  { local = [], global }: RateLimit,
): readonly PolicyProblem[] {
  return [
    ...(global === undefined ? [] : serviceProblems(global)),
    ...local.flatMap(({ key, when }, index) => [
      ...problemsOf(key, ["local", index, "key"], name),
      ...problemsOf(when, ["local", index, "when"], condition),
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

/** What a rate limit service cannot do as configured. */
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
  text: "a text, a number or a boolean",
};

function problemsOf(
  text: string | undefined,
  path: PolicyProblem["path"],
  accepted: Accepted,
): readonly PolicyProblem[] {
  if (text === undefined) return [];
  const problem = decisionProblem(text, path) ??
    typeProblem(text, path, accepted);
  return problem === undefined ? [] : [problem];
}
