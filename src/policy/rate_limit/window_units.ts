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
export const calendarUnits: ReadonlySet<WindowUnit> = new Set([
  "Days",
  "Weeks",
  "Months",
]);
