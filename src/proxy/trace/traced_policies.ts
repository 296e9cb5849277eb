import type { RequestVerdict } from "../../policy/policy.ts";
import { Refusal } from "../../policy/refusal.ts";
import type {
  AppliedPolicyStage,
  PolicyResult,
  TracedPolicyKind,
} from "../../telemetry/trace/trace_event.ts";
import type { JsonValue } from "../../base/json.ts";

/** A kind of policy as traces call it. */
export interface TracedPolicy {
  /** Left out for those that report with events of their own. */
  readonly kind?: TracedPolicyKind;
  readonly stage: AppliedPolicyStage;
  /** Of requests, where it is another. */
  readonly requestStage?: AppliedPolicyStage;
}

const tracedPolicies: ReadonlyMap<string, TracedPolicy> = new Map(
  Object.entries(
    {
      cors: { kind: "cors", stage: "cors" },
      jwtAuthentication: { kind: "jwt", stage: "jwt auth" },
      basicAuthentication: { kind: "basic_auth", stage: "basic auth" },
      apiKeyAuthentication: { kind: "api_key", stage: "api key" },
      authorization: { stage: "authorization" },
      // Only a rate limit service changes requests.
      rateLimit: {
        stage: "local rate limit",
        requestStage: "remote rate limit",
      },
      transformation: { kind: "transformation", stage: "transformation" },
      requestHeaderModifier: {
        kind: "request_header_modifier",
        stage: "request header modifier",
      },
      responseHeaderModifier: {
        kind: "response_header_modifier",
        stage: "response header modifier",
      },
      urlRewrite: { kind: "url_rewrite", stage: "url rewrite" },
      requestRedirect: { kind: "request_redirect", stage: "request redirect" },
      directResponse: { kind: "direct_response", stage: "direct response" },
    } satisfies Readonly<Record<string, TracedPolicy>>,
  ),
);

/** How traces call a policy of this kind, which is that of `Policy.kind`. */
export function tracedPolicy(kind: string): TracedPolicy | undefined {
  return tracedPolicies.get(kind);
}

/** What came of a policy; `said` is what it told of itself. */
export function resultOf(
  verdict: RequestVerdict,
  said: PolicyResult["result"] | undefined,
): PolicyResult["result"] {
  if (verdict instanceof Refusal) {
    const { message, response: { status } } = verdict;
    return { type: "reject", status, reason: message };
  }
  if (verdict === undefined) return said ?? applied(null);
  return applied({ status: verdict.status });
}

/** The result of a policy that did what it is there for. */
export function applied(details: JsonValue): PolicyResult["result"] {
  return { type: "apply", details, snapshot: null };
}
