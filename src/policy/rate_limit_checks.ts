import type { RateLimit } from "../api/rate_limit.ts";
import { ruleProblem } from "./authorization_rule.ts";
import type { PolicyProblem } from "./policy_kind.ts";

/** What is wrong with the expressions of the limits. */
export function checkRateLimit(
  { local = [], global }: RateLimit,
): readonly PolicyProblem[] {
  const unsupported = {
    path: ["global"],
    message: 'Cannot use "global": it is not supported by this version',
  };
  return [
    ...(global === undefined ? [] : [unsupported]),
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

function problemsOf(
  text: string | undefined,
  path: PolicyProblem["path"],
): readonly PolicyProblem[] {
  if (text === undefined) return [];
  const problem = ruleProblem(text, path);
  return problem === undefined ? [] : [problem];
}
