import { policyBackendRefSchema } from "../../api/resources/policy_backend_ref.ts";
import { celExpression } from "../../api/schema/scalars.ts";
import * as s from "../../api/schema/schema.ts";
import { hostAndPort } from "../../api/schema/address.ts";

const amount = s.integer(1, 2 ** 31 - 1);
const budgetEntries = {
  requests: s.field("Requests for each `unit`.", s.optional(amount)),
  tokens: s.field(
    "LLM tokens for each `unit`: input, with what the provider cached, and output.",
    s.optional(amount),
  ),
  unit: s.field(
    "How long a window is. It opens with the first request that is counted.",
    s.oneOf(["Seconds", "Minutes", "Hours"]),
  ),
  burst: s.field(
    "What may be used beyond that in one window: at first, and when it was left over before.",
    s.optional(s.integer(0, 2 ** 31 - 1)),
    0,
  ),
  when: s.field(
    "Expression; the limit applies to a request unless it is false.",
    s.optional(celExpression),
  ),
};
const requestsOrTokens = s.exactlyOne("requests", "tokens");

const localLimit = s.refine(
  s.object({
    ...budgetEntries,
    key: s.field(
      "Expression; each value has a budget of its own, such as `jwt.sub`. Requests without a value share one.",
      s.optional(celExpression),
    ),
    overshoot: s.field(
      "What becomes of tokens used beyond the budget: forgotten at the reset, or taken from the windows that follow.",
      s.withDefault(s.oneOf(["Forgive", "Carry"]), "Forgive"),
    ),
  }),
  requestsOrTokens,
);

const descriptor = s.refine(
  s.object({
    ...budgetEntries,
    entries: s.field(
      "Whose budget a request counts against: each combination of values has one.",
      s.list(
        s.object({
          key: s.field(
            "What `value` is, such as `user`.",
            s.withPrivacy("text", s.text(256)),
          ),
          value: s.field(
            "Expression of a text, a number or a boolean.",
            celExpression,
          ),
        }),
        { min: 1, max: 16 },
      ),
    ),
  }),
  requestsOrTokens,
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
    "Budgets of different domains are different budgets.",
    s.text(256),
  ),
  store: s.field(
    "Who counts: processes among themselves over the store in `config.kv`, or a service that speaks Envoy's rate limit protocol.",
    s.withDefault(
      s.union(
        [
          s.literal("KV"),
          s.object({
            service: s.field(
              "Where the service is, one of two.",
              rateLimitService,
            ),
          }),
        ],
        'expected "KV" or a mapping with "service"',
      ),
      "KV",
    ),
  ),
  failureMode: s.field(
    "What becomes of requests while nobody can say what is left: refused with 503, or forwarded.",
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
      "Limits that each process counts for itself; a request must pass all.",
      s.optional(s.list(localLimit, { min: 1, max: 16 })),
    ),
    global: s.field(
      "Limits that several processes share; a request must pass all.",
      s.optional(globalRateLimit),
    ),
    includeUsage: s.field(
      "Whether streamed OpenAI chats ask the provider for their usage. With `false` they go on as they are, and tokens are estimated when the provider does not say them.",
      s.optional(s.boolean()),
      true,
    ),
    headers: s.field(
      "`Standard`: answers also have the fields `RateLimit` and `RateLimit-Policy` of the IETF draft.",
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
