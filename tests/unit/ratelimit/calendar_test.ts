import assert from "node:assert/strict";
import type { BudgetDefinition } from "../../../src/ratelimit/budget/budget.ts";
import {
  type CalendarRule,
  calendarWindows,
  isTimeZone,
} from "../../../src/ratelimit/budget/calendar.ts";
import type { CounterStore } from "../../../src/ratelimit/local/counter_store.ts";
import { LocalCounterStore } from "../../../src/ratelimit/local/local_counter_store.ts";
import { LimitRegistry } from "../../../src/ratelimit/shared/limit_registry.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { tokensUsed } from "../../harness/login/tokens_used.ts";
import { KvFleet, useOf } from "./kv_fleet.ts";
import { storeOf } from "./shared/shared_threads.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** When the clock starts. */
const START = Date.UTC(2026, 0, 1);

const berlin = "Europe/Berlin";

const windows: readonly (readonly [
  rule: CalendarRule,
  time: string,
  start: string,
  end: string,
])[] = [
  [
    { unit: "days", timeZone: "UTC" },
    "2026-02-28T23:59:59.999Z",
    "2026-02-28T00:00Z",
    "2026-03-01T00:00Z",
  ],
  [
    { unit: "days", timeZone: berlin },
    "2026-03-29T12:00Z",
    "2026-03-28T23:00Z",
    "2026-03-29T22:00Z",
  ],
  [
    { unit: "days", timeZone: berlin },
    "2026-10-25T00:30Z",
    "2026-10-24T22:00Z",
    "2026-10-25T23:00Z",
  ],
  [
    // The clocks go from midnight to one: the day begins an hour late.
    { unit: "days", timeZone: "America/Santiago" },
    "2026-09-06T12:00Z",
    "2026-09-06T04:00Z",
    "2026-09-07T03:00Z",
  ],
  [
    { unit: "weeks", timeZone: "UTC" },
    "2026-01-01T00:00Z",
    "2025-12-29T00:00Z",
    "2026-01-05T00:00Z",
  ],
  [
    { unit: "months", timeZone: "America/New_York" },
    "2026-03-31T12:00Z",
    "2026-03-01T05:00Z",
    "2026-04-01T04:00Z",
  ],
  [
    { unit: "months", timeZone: "Pacific/Kiritimati" },
    "2026-01-31T11:00Z",
    "2026-01-31T10:00Z",
    "2026-02-28T10:00Z",
  ],
];

for (const [rule, time, start, end] of windows) {
  Deno.test(`${time} is in the window of ${rule.unit} of ${rule.timeZone} from ${start} to ${end}`, () => {
    const calendar = calendarWindows(rule);
    // Also after another window.
    calendar.startOf(START + 400 * DAY_MS);
    assert.equal(calendar.startOf(Date.parse(time)), Date.parse(start));
    assert.equal(calendar.endOf(Date.parse(time)), Date.parse(end));
    assert.equal(calendar.startOf(Date.parse(start)), Date.parse(start));
    assert.equal(
      calendar.startOf(Date.parse(start) - 1) < Date.parse(start),
      true,
    );
    assert.equal(calendar.startOf(Date.parse(end)), Date.parse(end));
  });
}

Deno.test("time zones are known by their IANA names", () => {
  for (const zone of ["UTC", berlin, "America/Argentina/Buenos_Aires"]) {
    assert.equal(isTimeZone(zone), true, zone);
  }
  for (const zone of ["", "Berlin", "Europe/Atlantis", "\0"]) {
    assert.equal(isTimeZone(zone), false, zone);
  }
});

function definitionOf(
  rule: CalendarRule,
  definition: Partial<BudgetDefinition> = {},
): BudgetDefinition {
  return {
    unit: "requests",
    base: 2,
    burst: 0,
    windowMs: DAY_MS,
    calendar: rule,
    overshoot: "Forgive",
    ...definition,
  };
}

/** Stores that count in one thread, and in one of several. */
const stores: Readonly<Record<string, (clock: FakeClock) => CounterStore>> = {
  "one thread": (clock) => new LocalCounterStore(clock),
  "several threads": (clock) => storeOf(new LimitRegistry(clock), clock),
};

async function budgetIn(
  store: CounterStore,
  definition: BudgetDefinition,
) {
  const identity = { scope: "s", name: "n", words: "n", isKeyed: true };
  const lease = store.lease();
  const limit = lease.limit(identity, definition);
  await lease.ready();
  return () => limit.budget("anna", 0);
}

for (const [name, createStore] of Object.entries(stores)) {
  Deno.test(`a budget per day of Berlin opens at every midnight there, for 400 days, in ${name}`, async () => {
    const clock = new FakeClock();
    const rule = { unit: "days", timeZone: berlin } as const;
    const budget = await budgetIn(createStore(clock), definitionOf(rule));
    const opened: number[] = [];
    let isOpen = false;

    for (let hour = 0; hour < 400 * 24; hour++) {
      const now = clock.monotonic();
      // Tries every hour; twice a day it passes, at midnight and an hour later.
      if (budget().allows(now)) {
        if (!isOpen) opened.push(clock.now());
        isOpen = true;
        budget().take(now);
      } else isOpen = false;
      clock.advance(HOUR_MS);
    }

    const local = new Intl.DateTimeFormat("en-GB", {
      timeZone: berlin,
      timeStyle: "short",
    });
    // The first day is under way when the clock starts.
    assert.deepEqual(
      new Set(opened.slice(1).map((time) => local.format(time))),
      new Set(["00:00"]),
    );
    assert.equal(opened.length, 401);
  });

  Deno.test(`a budget per month says when it resets, and carries debts into the months that follow, in ${name}`, async () => {
    const clock = new FakeClock();
    const rule = { unit: "months", timeZone: "UTC" } as const;
    const budget = await budgetIn(
      createStore(clock),
      definitionOf(rule, { unit: "tokens", base: 100, overshoot: "Carry" }),
    );
    clock.advance(10 * DAY_MS);
    assert.equal(budget().read(clock.monotonic()).resetMs, 21 * DAY_MS);
    budget().take(clock.monotonic());
    budget().debit(tokensUsed(230), clock.monotonic());

    clock.advance(21 * DAY_MS - 1);
    assert.equal(budget().allows(clock.monotonic()), false);
    assert.equal(budget().read(clock.monotonic()).resetMs, 1);
    clock.advance(1);
    // 130 of February's 100 are used.
    assert.equal(budget().allows(clock.monotonic()), false);
    assert.equal(budget().read(clock.monotonic()).resetMs, 28 * DAY_MS);
    clock.advance(28 * DAY_MS);
    assert.equal(budget().read(clock.monotonic()).remaining, 70);
    clock.advance(400 * DAY_MS);
    assert.equal(budget().read(clock.monotonic()).remaining, 100);
  });
}

Deno.test("a budget per week that processes share opens on Mondays of its time zone, across a change of clocks", async () => {
  await using fleet = await KvFleet.open(2);
  const rule = { unit: "weeks", timeZone: berlin } as const;
  const uses = [useOf({ base: 4, windowMs: 7 * DAY_MS, calendar: rule })];
  const [first, second] = fleet.limiters;
  // The clocks change in the night of 28 to 29 March.
  const sunday = Date.parse("2026-03-29T23:30:00+02:00");
  fleet.clock.advance(sunday - fleet.clock.now());

  assert.equal(await fleet.admit(uses, 3, first), 3);
  assert.equal(await fleet.admit(uses, 3, second), 1);
  await fleet.pass(1000);
  fleet.clock.advance(HOUR_MS / 2 - 2000);
  assert.equal(await fleet.admit(uses, 3, second), 0);
  fleet.clock.advance(1000);
  assert.equal(await fleet.admit(uses, 5, second), 4);
  const decision = await fleet.until(fleet.first.admit(uses));
  assert(decision.verdict === "refused");
  assert.equal(
    Math.round((decision.refusedBy?.resetMs ?? 0) / HOUR_MS),
    7 * 24,
  );
});

Deno.test("a budget per month that processes share is one budget from its first to its last second", async () => {
  await using fleet = await KvFleet.open(2);
  const rule = { unit: "months", timeZone: "UTC" } as const;
  const uses = [useOf({ base: 3, windowMs: 30 * DAY_MS, calendar: rule })];
  const [first, second] = fleet.limiters;

  assert.equal(await fleet.admit(uses, 2, first), 2);
  await fleet.pass(1000);
  fleet.clock.advance(31 * DAY_MS - 3000);
  assert.equal(await fleet.admit(uses, 3, second), 1);
  fleet.clock.advance(2000);
  assert.equal(await fleet.admit(uses, 4, first), 3);
});
