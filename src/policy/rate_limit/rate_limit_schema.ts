import { policyBackendRefSchema } from "../../api/resources/policy_references.ts";
import { celExpression } from "../../api/schema/scalars.ts";
import * as s from "../../api/schema/schema.ts";
import { hostAndPort } from "../../api/schema/address.ts";
import { positiveDuration } from "../../api/schema/duration.ts";
import {
  amount,
  amountNames,
  budgetEntries,
  budgetRules,
  type Window,
} from "./budget_schema.ts";

const weightOfRequests = s.rule<Window>(
  ({ requests, weight }) => requests !== undefined || weight === undefined,
  'expected "weight" with requests only',
  () => ["weight"],
);
const windowless = s.rule<Window>(
  (limit) =>
    limit.concurrentRequests === undefined || foreignNames(limit).length === 0,
  (limit) =>
    `expected no "${foreignNames(limit)[0]}" beside "concurrentRequests"`,
  (limit) => foreignNames(limit).slice(0, 1),
);

/** Returns the fields that have no meaning for a limit without windows. */
function foreignNames(
  { unit, timeZone, burst, reserve }: Window,
): readonly string[] {
  const fields = { unit, timeZone, burst, reserve };
  return Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [name]
  );
}

const localLimit = s.refine(
  s.object({
    ...budgetEntries,
    concurrentRequests: s.field(
      "Requests in progress at the same time; has no `unit`.",
      s.optional(amount),
    ),
    key: s.field(
      "Key (CEL), such as `jwt.sub`: each value has its own budget. Requests without a value share one.",
      s.optional(celExpression),
    ),
    weight: s.field(
      "Requests that one counts as (CEL), such as `has(mcp.tool) && mcp.tool.name == 'report' ? 20 : 1`: a whole number, 0 for one that is free. A request without a value counts as the whole budget.",
      s.optional(celExpression),
    ),
    overshoot: s.field(
      "Tokens used beyond the budget: `Forgive` drops them at the reset, `Carry` charges them to later windows.",
      s.withDefault(s.oneOf(["Forgive", "Carry"]), "Forgive"),
    ),
  }),
  s.exactlyOne(...amountNames, "concurrentRequests"),
  ...budgetRules,
  weightOfRequests,
  windowless,
);

const descriptor = s.refine(
  s.object({
    ...budgetEntries,
    entries: s.field(
      "Key of the budget: each combination of values has its own.",
      s.list(
        s.object({
          key: s.field(
            "Name of the value, such as `user`.",
            s.withPrivacy("text", s.text(256)),
          ),
          value: s.field(
            "Value (CEL): a string, a number or a boolean.",
            celExpression,
          ),
        }),
        { min: 1, max: 16 },
      ),
    ),
  }),
  s.exactlyOne(...amountNames),
  ...budgetRules,
);

const rateLimitService = s.refine(
  s.object({
    backendRef: s.field(
      "A backend, for a service behind TLS.",
      s.optional(policyBackendRefSchema),
    ),
    host: s.field("`host:port`, without TLS.", s.optional(hostAndPort)),
  }),
  s.exactlyOne("backendRef", "host"),
);

const globalRateLimit = s.object({
  domain: s.field(
    "Namespace of the budgets.",
    s.text(256),
  ),
  store: s.field(
    "Counter of the budgets: the store in `config.kv`, or a service that implements Envoy's rate limit protocol.",
    s.withDefault(
      s.union(
        [
          s.literal("KV"),
          s.object({
            service: s.field(
              "Address of the service.",
              rateLimitService,
            ),
          }),
        ],
        'expected "KV" or a mapping with "service"',
      ),
      "KV",
    ),
  ),
  timeout: s.field(
    "Time that a request waits for the store or service; then `failureMode` decides. Default: `250ms` for `KV`, `100ms` for a service.",
    s.optional(positiveDuration),
  ),
  failureMode: s.field(
    "Requests while the store or service is unavailable: `Closed` rejects them with 503, `Open` forwards them.",
    s.withDefault(s.oneOf(["Closed", "Open"]), "Closed"),
  ),
  descriptors: s.field(
    "The limits.",
    s.list(descriptor, { min: 1, max: 16 }),
  ),
});

/** Budgets of requests or LLM tokens, per process and shared. */
export const rateLimitSchema = s.refine(
  s.object({
    local: s.field(
      "Limits per process; a request must pass all of them.",
      s.optional(s.list(localLimit, { min: 1, max: 16 })),
    ),
    global: s.field(
      "Limits shared by several processes; a request must pass all of them.",
      s.optional(globalRateLimit),
    ),
    includeUsage: s.field(
      "Requests the usage of streamed OpenAI chats from the provider. With `false` the gateway forwards them unchanged, and estimates tokens when the provider does not report them.",
      s.optional(s.boolean()),
      true,
    ),
    onDisconnect: s.field(
      "Tokens of a response whose client leaves: `Drain` reads it to its end, for at most 60 seconds and 16 MiB, so that the provider reports them; `Estimate` ends it and estimates them.",
      s.optional(s.oneOf(["Drain", "Estimate"])),
      "Drain",
    ),
    unknownUsage: s.field(
      "Requests whose tokens cannot be counted: `Allow` forwards them and warns, `Deny` rejects them with 400.",
      s.optional(s.oneOf(["Allow", "Deny"])),
      "Allow",
    ),
    headers: s.field(
      "`Standard`: adds the fields `RateLimit` and `RateLimit-Policy` of the IETF draft to responses.",
      s.optional(s.oneOf(["Standard"])),
    ),
  }),
  s.atLeastOne("local", "global"),
);

/** Budgets of requests or LLM tokens. */
export type RateLimit = s.Infer<typeof rateLimitSchema>;
/** A budget of one process. */
export type LocalLimit = s.Infer<typeof localLimit>;
/** Budgets shared by a fleet. */
export type GlobalRateLimit = s.Infer<typeof globalRateLimit>;
