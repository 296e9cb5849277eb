import type { Authorization } from "./authorization_schema.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { AuthorizationResult } from "../../telemetry/trace/trace_event.ts";
import {
  bearerChallenge,
  rejectWith,
} from "../authentication/auth_responses.ts";
import {
  AuthorizationRule,
  describeResult,
  type EvaluatedRule,
  evaluateRules,
} from "./authorization_rule.ts";
import {
  joinBodyUses,
  readBodyVariables,
} from "../expressions/body_variables.ts";
import {
  denialPage,
  jwtClaims,
  protectedResource,
  tokenScheme,
} from "../authentication/request_identity.ts";
import {
  llmRequest,
  mcpMessage,
  mcpSubscriptions,
  noteFailedExpression,
} from "../expressions/expression_slots.ts";
import type { Policy, PolicyContext } from "../contract/policy.ts";
import type { PolicyOptions } from "../contract/policy_kind.ts";
import type { PolicyServices } from "../contract/policy_services.ts";
import { Rejection } from "../contract/rejection.ts";
import { RequestVariables } from "../expressions/request_variables.ts";
import {
  describeValues,
  type ShownValues,
  type ValueSecrets,
} from "./denial_values.ts";
import { checkAuthorization } from "./authorization_checks.ts";
import { jsonRpcDenial } from "./json_rpc_denial.ts";
import { ModelFilter } from "./model_filter.ts";
import { ListFilter } from "./list_filter.ts";
import { RequiredScopes } from "./scopes.ts";

/**
 * Admits requests by rules. `Allow`: every rule must be true. `Deny`: every rule must be false. A rule that errors, or whose result
 * is not a boolean, denies the request in both modes.
 */
export function createAuthorization(
  { action, denial, hidden = true, policy }: Authorization,
  { hide, services, reports = true }: AuthorizationOptions,
): Policy<"authorization"> {
  const rules = policy.matchExpressions.map((text) =>
    new AuthorizationRule(text, hide)
  );
  const use = joinBodyUses(rules.map(({ bodyUse }) => bodyUse));
  const passing = action === "Allow";
  const scopes = new RequiredScopes(rules, passing);
  const { sensitiveHeaders } = services;
  const secrets = { hide, sensitiveHeaders };
  const facts = { passing, scopes, secrets, reports };
  const lists = ListFilter.create(rules, { passing, hidden }, services);
  const models = ModelFilter.create(rules, passing, services);

  const answer = (context: PolicyContext, applied = rules) => {
    const rejection = forEachModel(
      context,
      () => forEachResource(context, () => decide(context, applied, facts)),
    );
    return rejection === undefined || denial === "Http403"
      ? rejection
      : denyByJsonRpc(context, rejection);
  };

  const demands = {
    get requiredScopes() {
      return scopes.always;
    },
  };
  if (use === undefined) {
    return Object.assign(demands, {
      onRequest: (context: PolicyContext) => answer(context),
    });
  }
  const decideByBody = async (context: PolicyContext) => {
    await readBodyVariables(context, use);
    // A list names no model: rules about models decide which of them it shows.
    const applied = models?.watch(context) ? models.others : rules;
    const rejection = await answer(context, applied);
    if (rejection === undefined) await lists?.watch(context);
    return rejection;
  };
  return Object.assign(demands, {
    onRequest: decideByBody,
    ...((lists !== undefined || models !== undefined) && {
      onResponse: (context: PolicyContext, response: ResponseMessage) =>
        models?.filter(context, response) ?? lists?.filter(context, response),
    }),
  });
}

/** Evaluates rules; returns the rejection if one of them denies the request. */
function decide(
  context: PolicyContext,
  applied: readonly AuthorizationRule[],
  { passing, scopes, secrets, reports }: {
    /** Result that each rule must have. */
    readonly passing: boolean;
    readonly scopes: RequiredScopes;
    readonly secrets: ValueSecrets;
    readonly reports: boolean;
  },
): Rejection<"authorization"> | undefined {
  const mode: Mode = passing ? "require" : "deny";
  const variables = new RequestVariables(context);
  const evaluated = evaluateRules(
    applied,
    variables,
    context.slots.get(jwtClaims),
  );
  const denying = evaluated.filter(({ result }) => result !== passing);
  if (denying.length > 0) {
    for (const { result } of denying) {
      if (typeof result === "boolean") continue;
      noteFailedExpression(context, "authorization");
    }
    const verdict = verdictOf(
      evaluated,
      mode,
      "deny",
      ({ rule, result }) =>
        result === passing
          ? undefined
          : describeValues(rule.fieldValues(variables), secrets),
    );
    return reject(context, denying, scopes, verdict);
  }
  if (reports) context.trace?.report(verdictOf(evaluated, mode, "allow"));
  return undefined;
}

/** Decides for each model that may respond, until one is rejected. */
function forEachModel<T>(
  { slots }: PolicyContext,
  decide: () => T | undefined,
): T | undefined {
  const llm = slots.get(llmRequest);
  if (llm?.otherModels === undefined) return decide();
  const { otherModels, ...request } = llm;
  let rejection = undefined;
  for (const requestModel of [llm.requestModel, ...otherModels]) {
    slots.set(llmRequest, {
      ...request,
      ...(requestModel && { requestModel }),
    });
    rejection ??= decide();
  }
  slots.set(llmRequest, llm);
  return rejection;
}

/** Decides for each resource of a subscription to several, until one is rejected. */
function forEachResource<T>(
  { slots }: PolicyContext,
  decide: () => T | undefined,
): T | undefined {
  const subscriptions = slots.get(mcpSubscriptions);
  if (subscriptions === undefined) return decide();
  let rejection = undefined;
  for (const message of subscriptions) {
    slots.set(mcpMessage, message);
    rejection ??= decide();
  }
  slots.set(mcpMessage, undefined);
  return rejection;
}

/** A challenge stays: clients look for it in a 403. */
async function denyByJsonRpc(
  context: PolicyContext,
  rejection: Rejection<"authorization">,
): Promise<Rejection<"authorization">> {
  const { reason, message, response, verdict } = rejection;
  if (response.headers.has("www-authenticate")) return rejection;
  const denial = await jsonRpcDenial(context);
  return denial === undefined
    ? rejection
    : new Rejection(reason, message, denial, verdict);
}

interface AuthorizationOptions extends Pick<PolicyOptions, "hide"> {
  readonly services: Pick<
    PolicyServices,
    "clock" | "log" | "maxBufferBytes" | "sensitiveHeaders"
  >;
  /** False: the rules are the gateway's own, and not in traces of requests that pass. Default true. */
  readonly reports?: boolean;
}

/** Mode of the rules: all must be true, or none may be. */
type Mode = AuthorizationResult["rules"][number]["mode"];

/** Describes the result of every rule for the trace. */
function verdictOf(
  evaluated: readonly EvaluatedRule[],
  mode: Mode,
  result: AuthorizationResult["result"],
  valuesOf: (one: EvaluatedRule) => ShownValues | undefined = () => undefined,
): AuthorizationResult {
  return {
    type: "authorizationResult",
    rules: evaluated.map((one) => {
      const { rule, result } = one;
      const values = valuesOf(one);
      return {
        name: rule.shown,
        matched: result === true,
        mode,
        ...(typeof result !== "boolean" &&
          { error: result.withoutValues(rule.shown) }),
        ...(values !== undefined && { values }),
      };
    }),
    result,
  };
}

function reject(
  context: PolicyContext,
  denying: readonly EvaluatedRule[],
  scopes: RequiredScopes,
  verdict: AuthorizationResult,
): Rejection<"authorization"> {
  const jwt = context.slots.get(jwtClaims);
  const missing = jwt && scopes.missing(
    context,
    jwt,
    denying.map(({ rule }) => rule),
    context.slots.get(protectedResource)?.scopesSupported,
  );
  return new Rejection(
    "authorization",
    denying.map(describeResult).join("; "),
    context.slots.get(denialPage)?.() ??
      (missing === undefined
        ? rejectWith("forbidden", "the request is not allowed")
        : demandScopes(context, missing)),
    verdict,
  );
}

function demandScopes(
  context: PolicyContext,
  scopes: readonly string[],
): ResponseMessage {
  const description = "the token lacks a scope that the request needs";
  return rejectWith("insufficient_scope", description, {
    "www-authenticate": bearerChallenge({
      scheme: context.slots.get(tokenScheme),
      resourceMetadata: context.slots.get(protectedResource)?.metadataUrl(
        context,
      ),
      error: "insufficient_scope",
      description,
      scope: scopes.join(" "),
    }),
  });
}

/** The code of the kind. */
export const code = { check: checkAuthorization, create: createAuthorization };
