import { policyBackendRefSchema } from "../../api/resources/policy_references.ts";
import { celExpression } from "../../api/schema/scalars.ts";
import * as s from "../../api/schema/schema.ts";
import { hostAndPort } from "../../api/schema/address.ts";
import { positiveDuration } from "../../api/schema/duration.ts";
import { isTimeZone } from "../../ratelimit/budget/calendar.ts";

const amount = s.integer(1, 2 ** 31 - 1);
const windowUnit = s.oneOf([
  "Seconds",
  "Minutes",
  "Hours",
  "Days",
  "Weeks",
  "Months",
]);
const cost = s.object({
  usd: s.field(
    "US dollars.",
    s.refine(
      s.number(),
      s.rule(
        (usd) => usd >= 0.000_001 && usd <= 1_000_000,
        "expected an amount from 0.000001 to 1000000",
      ),
    ),
  ),
  unit: s.field("Window, as `unit` of other limits.", windowUnit),
});
const timeZone = s.named(
  "time zone",
  s.checkedText(isTimeZone, 'a time zone such as "Europe/Berlin"'),
);
const amountEntries = {
  requests: s.field("Requests for each `unit`.", s.optional(amount)),
  tokens: s.field(
    "LLM tokens for each `unit`: input, including cached input, and output.",
    s.optional(amount),
  ),
  inputTokens: s.field(
    "LLM input tokens for each `unit`, including cached input.",
    s.optional(amount),
  ),
  outputTokens: s.field(
    "LLM output tokens for each `unit`, including reasoning.",
    s.optional(amount),
  ),
  cost: s.field(
    "Money for each `unit`: what the tokens cost at the prices of `config.prices`.",
    s.optional(cost),
  ),
  unit: s.field(
    "Window. One of `Seconds`, `Minutes` or `Hours` opens with the first request that it counts; `Days`, `Weeks` (from Monday) and `Months` are those of the calendar.",
    s.optional(windowUnit),
  ),
  timeZone: s.field(
    "Time zone of `Days`, `Weeks` and `Months`, such as `Europe/Berlin`; `UTC` by default.",
    s.optional(timeZone),
  ),
  burst: s.field(
    "Additional budget for one window: available at first, and when earlier windows left it over.",
    s.optional(s.integer(0, 2 ** 31 - 1)),
    0,
  ),
  reserve: s.field(
    "Holds the tokens or the money that a request may use, by its size and its `max_tokens`, until its usage is known. Requests for which not enough is left get 429.",
    s.optional(s.boolean()),
    false,
  ),
  whenExceeded: s.field(
    "`Reject` rejects requests beyond the budget with 429; `Warn` forwards them, and the log warns once a minute.",
    s.optional(s.oneOf(["Reject", "Warn"])),
    "Reject",
  ),
};
const budgetEntries = {
  ...amountEntries,
  when: s.field(
    "Condition (CEL): the limit applies to a request unless it is false.",
    s.optional(celExpression),
  ),
};
const amountNames = [
  "requests",
  "tokens",
  "inputTokens",
  "outputTokens",
  "cost",
] as const;
interface Window {
  readonly requests?: number | undefined;
  readonly unit?: WindowUnit | undefined;
  readonly cost?: { readonly unit: WindowUnit } | undefined;
  readonly timeZone?: string | undefined;
  readonly burst?: number | undefined;
  readonly reserve?: boolean | undefined;
  readonly concurrentRequests?: number | undefined;
  readonly weight?: string | undefined;
}
const oneUnit = s.rule<Window>(
  ({ unit, cost, concurrentRequests }) =>
    concurrentRequests !== undefined ||
    (unit === undefined) !== (cost === undefined),
  ({ cost }) =>
    cost === undefined
      ? '"unit" is required'
      : 'expected "unit" inside of "cost" only',
  ({ cost }) => cost === undefined ? [] : ["unit"],
);
const zoneOfCalendar = s.rule<Window>(
  ({ unit, cost, timeZone }) => {
    const window = unit ?? cost?.unit;
    return timeZone === undefined || window === undefined ||
      calendarUnits.has(window);
  },
  'expected no time zone: it is for the units "Days", "Weeks" and "Months"',
  () => ["timeZone"],
);

const reserveOfUse = s.rule<Window>(
  ({ requests, reserve }) => requests === undefined || reserve !== true,
  'expected "reserve" with tokens or money only: requests are charged when they are admitted',
  () => ["reserve"],
);
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
  oneUnit,
  zoneOfCalendar,
  reserveOfUse,
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
  oneUnit,
  zoneOfCalendar,
  reserveOfUse,
);

/** A budget of a stored key, user or team. */
export const storedBudgetSchema = s.refine(
  s.object({
    ...amountEntries,
    notifyAt: s.field(
      "Percentages of the budget at which the gateway notifies of its use.",
      s.optional(s.list(s.integer(1, 100), { min: 1, max: 8 })),
    ),
  }),
  s.exactlyOne(...amountNames),
  oneUnit,
  zoneOfCalendar,
  reserveOfUse,
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

const DAY_MS = 86_400_000;

/** Usual length and name of a window, by unit of the configuration. */
export const windowUnits = {
  Seconds: { windowMs: 1000, name: "second" },
  Minutes: { windowMs: 60_000, name: "minute" },
  Hours: { windowMs: 3_600_000, name: "hour" },
  Days: { windowMs: DAY_MS, name: "day", calendar: "days" },
  Weeks: { windowMs: 7 * DAY_MS, name: "week", calendar: "weeks" },
  Months: { windowMs: 30 * DAY_MS, name: "month", calendar: "months" },
} as const;

/** Units of windows. */
export type WindowUnit = keyof typeof windowUnits;

/** Units of windows that follow the calendar. */
const calendarUnits: ReadonlySet<WindowUnit> = new Set([
  "Days",
  "Weeks",
  "Months",
]);
