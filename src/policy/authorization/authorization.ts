import {
  errorOf,
  type Explanation,
  namedPart,
} from "../../telemetry/failures/explanation.ts";
import type { RecordedRequest } from "../../telemetry/failures/recorded_request.ts";
import type { AuthorizationResult } from "../../telemetry/trace/trace_event.ts";
import { definePolicy } from "../contract/define_policy.ts";
import { authorizationSchema } from "./authorization_schema.ts";

/** Rules over the caller and the request; those of all levels apply. */
export const authorization = definePolicy(
  "authorization",
  {
    description: "Authorization rules; those of gateway and route all apply.",
    schema: authorizationSchema,
    phases: ["route", "gateway"],
    merge: "accumulate",
    access: {
      identity: undefined,
      isRequired: () => true,
      credentials: () => [],
    },
    trace: {
      event: undefined,
      stage: "authorization",
      selection: "authorization",
    },
    rejections: { authorization: { explain } },
  },
  loadCode,
);

/** Expressions take a fifth of the start and 10 MB: only configurations that have them load them. */
async function loadCode() {
  return (await import("./authorization_policy.ts")).code;
}

function explain(failed: RecordedRequest): Explanation {
  const rule = failingRule(failed);
  return {
    cause: `Denied: ${errorOf(failed)}.${describeFields(rule)}`,
    failing: namedPart("rule", rule?.name),
    advice:
      "If it should pass, change the rule under `authorization`, or give the caller what the rule requires.",
  };
}

function failingRule({ verdict }: RecordedRequest): FailedRule | undefined {
  if (verdict?.type !== "authorizationResult") return undefined;
  return verdict.rules.find(({ matched, mode, error }) =>
    error !== undefined || matched === (mode === "deny")
  );
}

type FailedRule = AuthorizationResult["rules"][number];

/** Returns ` In this request, apiKey.models is ["small"], and llm.requestModel is "large".` */
function describeFields(rule: FailedRule | undefined): string {
  const values = rule?.values ?? [];
  if (values.length === 0) return "";
  const list = values.map(({ name, value }) => `${name} is ${value}`);
  return ` In this request, ${
    new Intl.ListFormat("en-US", { type: "conjunction" }).format(list)
  }.`;
}
