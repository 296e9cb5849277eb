import { defineCombinedPolicy } from "../define_policy.ts";
import { explainLimit } from "./explain_limit.ts";
import { checkGlobalStore } from "./rate_limit_references.ts";
import { rateLimitSchema } from "./rate_limit_schema.ts";

/** Rate limits of gateway and route, as one policy. */
export const rateLimit = defineCombinedPolicy(
  "rateLimit",
  {
    description:
      "Budgets of requests or LLM tokens; those of gateway and route all apply.",
    schema: rateLimitSchema,
    phases: ["route", "gateway"],
    access: "open",
    trace: {
      event: undefined,
      // Only a rate limit service changes requests.
      stage: (side, reported) =>
        side === "request" || !reported.has("local")
          ? "remote rate limit"
          : "local rate limit",
      selection: {
        localRateLimit: ({ local }) => local,
        remoteRateLimit: ({ global }) => global,
      },
    },
    rejections: { rate_limit: { explain: explainLimit } },
    checkReferences: checkGlobalStore,
  },
  loadCode,
);

/** Expressions take a fifth of the start and 10 MB: only configurations that have them load them. */
async function loadCode() {
  return (await import("./rate_limit_policy.ts")).code;
}
