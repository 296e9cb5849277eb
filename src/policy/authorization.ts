import type { Authorization } from "../api/authorization.ts";
import type { ResponseMessage } from "../http/message.ts";
import type { AuthorizationResult } from "../telemetry/trace_event.ts";
import { refuseWith } from "./auth_responses.ts";
import {
  createRule,
  describeResult,
  type EvaluatedRule,
  evaluateRules,
  ruleProblem,
} from "./authorization_rule.ts";
import {
  type BodyUse,
  joinBodyUses,
  readBodyVariables,
} from "./body_variables.ts";
import { bearerChallenge } from "./challenge.ts";
import type { Policy, PolicyContext } from "./policy.ts";
import type { PolicyProblem } from "./policy_kind.ts";
import { Refusal } from "./refusal.ts";
import { RequestVariables } from "./request_variables.ts";
import { missingScopes } from "./scopes.ts";

/** What is wrong with the rules. */
export function checkAuthorization(
  { policy }: Authorization,
): readonly PolicyProblem[] {
  return policy.matchExpressions.flatMap((text, index) =>
    ruleProblem(text, ["policy", "matchExpressions", index]) ?? []
  );
}

/**
 * Lets requests pass by rules. `Allow`: every rule must be true. `Deny`: every rule must be false. A rule that fails, or whose
 * result is not a boolean, refuses in both.
 */
export function createAuthorization(
  { action, policy }: Authorization,
): Policy {
  const rules = policy.matchExpressions.map(createRule);
  const use = joinBodyUses(rules.map(({ bodyUse }) => bodyUse));
  const passing = action === "Allow";

  function decide(context: PolicyContext, variables: RequestVariables) {
    const { jwt } = context.identity;
    const evaluated = evaluateRules(rules, variables, jwt);
    const refusing = evaluated.filter(({ result }) => result !== passing);
    if (refusing.length > 0) {
      const verdict = verdictOf(evaluated, passing, "deny");
      return refuse(context, refusing, passing, verdict);
    }
    context.trace?.report(verdictOf(evaluated, passing, "allow"));
    return undefined;
  }

  return {
    kind: "authorization",
    onRequest(context) {
      return use === undefined
        ? decide(context, new RequestVariables(context))
        : decideWithBody(context, use, decide);
    },
  };
}

async function decideWithBody(
  context: PolicyContext,
  use: BodyUse,
  decide: (
    context: PolicyContext,
    variables: RequestVariables,
  ) => Refusal | undefined,
): Promise<Refusal | undefined> {
  const mcp = await readBodyVariables(context, use);
  return decide(context, new RequestVariables(context, mcp));
}

/** What every rule said, for the trace. */
function verdictOf(
  evaluated: readonly EvaluatedRule[],
  isAllow: boolean,
  result: AuthorizationResult["result"],
): AuthorizationResult {
  return {
    type: "authorizationResult",
    rules: evaluated.map(({ rule, result }) => ({
      name: rule.text,
      matched: result === true,
      mode: isAllow ? "require" : "deny",
      ...(typeof result !== "boolean" &&
        { error: result.withoutValues(rule.text) }),
    })),
    result,
  };
}

/** @param isAllow Whether the rules would have to hold. */
function refuse(
  context: PolicyContext,
  refusing: readonly EvaluatedRule[],
  isAllow: boolean,
  verdict: AuthorizationResult,
): Refusal {
  const { jwt } = context.identity;
  const wanted = isAllow ? refusing.map(({ rule }) => rule) : [];
  const missing = jwt && missingScopes(jwt, wanted);
  return new Refusal(
    "authorization",
    refusing.map(describeResult).join("; "),
    missing === undefined
      ? refuseWith("forbidden", "the request is not allowed")
      : demandScopes(context, missing),
    verdict,
  );
}

function demandScopes(
  context: PolicyContext,
  scopes: readonly string[],
): ResponseMessage {
  const description = "the token lacks a scope that the request needs";
  return refuseWith("insufficient_scope", description, {
    "www-authenticate": bearerChallenge({
      resourceMetadata: context.identity.protectedResource?.metadataUrl(
        context,
      ),
      error: "insufficient_scope",
      description,
      scope: scopes.join(" "),
    }),
  });
}
