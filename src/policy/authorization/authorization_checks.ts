import {
  apiKeyMetadata,
  basicAuthUser,
  jwtClaims,
} from "../authentication/request_identity.ts";
import { Expression } from "../cel/expression.ts";
import type { PolicyOptions, PolicyProblem } from "../contract/policy_kind.ts";
import {
  type CompiledExpression,
  compileOnce,
  condition,
  decisionProblem,
  typeProblem,
} from "../expressions/expression_checks.ts";
import type { Authorization } from "./authorization_schema.ts";

/** Finds rules that cannot be evaluated, or are never true. */
export function checkAuthorization(
  { policy }: Authorization,
  { hide }: Pick<PolicyOptions, "hide">,
): readonly PolicyProblem[] {
  return policy.matchExpressions.flatMap((text, index) => {
    const path = ["policy", "matchExpressions", index];
    const compiled = compileOnce(text, hide);
    return decisionProblem(compiled, path) ?? typeWarning(compiled, path) ??
      identityWarnings(compiled, path);
  });
}

const identities = [
  [jwtClaims.name, "jwtAuthentication"],
  [apiKeyMetadata.name, "apiKeyAuthentication"],
  [basicAuthUser.name, "basicAuthentication"],
] as const;

/** Warns of a rule that reads an identity, for routes where nothing verifies it; a rule that asks for it with `has` expects that. */
function identityWarnings(
  compiled: CompiledExpression,
  path: PolicyProblem["path"],
): PolicyProblem[] {
  if (!(compiled instanceof Expression)) return [];
  return identities.flatMap(([name, policy]) =>
    !compiled.needs(name) ? [] : [{
      path,
      message:
        `No policy sets "${name}" here: add "${policy}" to the route or its gateway, or the rule denies requests`,
      isWarning: true,
      unlessVerified: name,
    }]
  );
}

/** Warns of a rule that is never a boolean: it denies every request, which is safe but probably unintended. */
function typeWarning(
  compiled: CompiledExpression,
  path: PolicyProblem["path"],
): PolicyProblem | undefined {
  const problem = typeProblem(compiled, path, condition);
  if (problem === undefined) return undefined;
  const message = `${problem.message}; it denies every request`;
  return { ...problem, message, isWarning: true };
}
