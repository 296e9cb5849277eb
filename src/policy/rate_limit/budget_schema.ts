import { celExpression } from "../../api/schema/scalars.ts";
import * as s from "../../api/schema/schema.ts";
import { isTimeZone } from "../../ratelimit/budget/calendar.ts";

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

/** Amount of requests or tokens. */
export const amount = s.integer(1, 2 ** 31 - 1);
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
/** Fields of a budget of the configuration. */
export const budgetEntries = {
  ...amountEntries,
  when: s.field(
    "Condition (CEL): the limit applies to a request unless it is false.",
    s.optional(celExpression),
  ),
};
/** Fields of a budget of which it has one. */
export const amountNames = [
  "requests",
  "tokens",
  "inputTokens",
  "outputTokens",
  "cost",
] as const;

/** Fields of a limit that say what it counts, and for how long. */
export interface Window {
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

/** Rules of all budgets. */
export const budgetRules = [oneUnit, zoneOfCalendar, reserveOfUse];

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
  ...budgetRules,
);
