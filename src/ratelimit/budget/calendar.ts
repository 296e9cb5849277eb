/** Windows of the calendar. */
export interface CalendarRule {
  /** A week begins on Monday. */
  readonly unit: "days" | "weeks" | "months";
  /** IANA name, such as `Europe/Berlin`. */
  readonly timeZone: string;
}

/** Days, weeks or months of a time zone; remembers the latest one. */
class CalendarWindows {
  readonly #rule: CalendarRule;
  #start = 0;
  #end = 0;

  constructor(rule: CalendarRule) {
    this.#rule = rule;
  }

  /** Returns the start of the window that contains `time`, in milliseconds since the epoch. */
  startOf(time: number): number {
    this.#move(time);
    return this.#start;
  }

  /** Returns the end of the window that contains `time`. */
  endOf(time: number): number {
    this.#move(time);
    return this.#end;
  }

  #move(time: number): void {
    if (time >= this.#start && time < this.#end) return;
    const { unit, timeZone } = this.#rule;
    const day = Temporal.Instant.fromEpochMilliseconds(Math.floor(time))
      .toZonedDateTimeISO(timeZone).toPlainDate();
    const first = unit === "months"
      ? day.with({ day: 1 })
      : unit === "weeks"
      ? day.subtract({ days: day.dayOfWeek - 1 })
      : day;
    // Where a change of clocks skips midnight, the day begins after it.
    const startOf = (date: Temporal.PlainDate) =>
      date.toZonedDateTime(timeZone).epochMilliseconds;
    this.#start = startOf(first);
    this.#end = startOf(first.add({ [unit]: 1 }));
  }
}

/** Windows by unit and time zone. */
const known = new Map<string, CalendarWindows>();

/** Returns the windows of a rule. @throws {RangeError} On use, if there is no such time zone. */
export function calendarWindows(rule: CalendarRule): CalendarWindows {
  const key = `${rule.unit} ${rule.timeZone}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const windows = new CalendarWindows(rule);
  known.set(key, windows);
  return windows;
}

/** Reports whether there is a time zone of this name. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions()
      .timeZone !== "";
  } catch {
    return false;
  }
}
