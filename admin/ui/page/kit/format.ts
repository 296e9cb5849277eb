/** Formats values in the language of the browser; `–` stands for values that are not known. */

const NOTHING = "–";

/** Creates a format when it is first used, and keeps it: creating one takes far longer than formatting a value. */
function lazily<T>(create: () => T): () => T {
  let made: T | undefined;
  return () => made ??= create();
}

/** Formats of numbers by their maximum of digits after the point, as far as one was needed. */
const numbers: (Intl.NumberFormat | undefined)[] = [];
const dateTimes = lazily(() =>
  new Intl.DateTimeFormat(undefined, {
    dateStyle: "medium",
    timeStyle: "medium",
  })
);
const times = lazily(() =>
  new Intl.DateTimeFormat(undefined, { timeStyle: "medium" })
);
const minutes = lazily(() =>
  new Intl.DateTimeFormat(undefined, { timeStyle: "short" })
);

/** Formats a number with few digits. */
export function number(value: number | null | undefined, digits = 1): string {
  if (!isNumber(value)) return NOTHING;
  const format = numbers[digits] ??= new Intl.NumberFormat(undefined, {
    maximumFractionDigits: digits,
  });
  return format.format(value);
}

/** Formats a time with its date: `31 Jan 2027, 12:00:00`. */
export function dateTime(date: Date): string {
  return dateTimes().format(date);
}

/** Formats a time of the day: `12:00:00`, or `12:00` without seconds. */
export function timeOfDay(date: Date, hasSeconds = true): string {
  return (hasSeconds ? times() : minutes()).format(date);
}

/** Formats a large number in few characters: `12.3 k`. */
export function compact(value: number | null | undefined): string {
  if (!isNumber(value)) return NOTHING;
  const size = Math.abs(value);
  if (size < 10) return number(value, 2);
  if (size < 1000) return number(value, size < 100 ? 1 : 0);
  const power = Math.min(4, Math.floor(Math.log10(size) / 3));
  return `${number(value / 1000 ** power)} ${["", "k", "M", "G", "T"][power]}`;
}

/** Formats a share between 0 and 1: `2.5 %`. */
export function percent(share: number | null | undefined): string {
  return isNumber(share)
    ? `${number(share * 100, share < 0.1 ? 2 : 1)} %`
    : NOTHING;
}

/** Formats seconds as a duration of two units: `2 h 5 min`. */
export function duration(seconds: number | null | undefined): string {
  if (!isNumber(seconds)) return NOTHING;
  const units: readonly (readonly [number, string])[] = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [Math.floor(seconds) % 60, "s"],
  ];
  const parts = units.filter(([value]) => value > 0).slice(0, 2);
  return parts.map(([value, unit]) => `${value} ${unit}`).join(" ") || "0 s";
}

/** Formats a latency in milliseconds, with a unit that fits: `850 µs`, `12.3 ms`, `1.5 s`. */
export function latency(milliseconds: number | null | undefined): string {
  if (!isNumber(milliseconds)) return NOTHING;
  if (milliseconds < 1) return `${number(milliseconds * 1000, 0)} µs`;
  if (milliseconds < 1000) {
    return `${number(milliseconds, milliseconds < 100 ? 1 : 0)} ms`;
  }
  return milliseconds < 60_000
    ? `${number(milliseconds / 1000, 2)} s`
    : duration(milliseconds / 1000);
}

/** Formats a size: `12.3 MB`. */
export function bytes(value: number | null | undefined): string {
  if (!isNumber(value)) return NOTHING;
  const power = Math.min(3, Math.floor(Math.log10(Math.max(value, 1)) / 3));
  const size = value / 1000 ** power;
  return `${number(size, size < 100 ? 1 : 0)} ${
    ["B", "kB", "MB", "GB"][power]
  }`;
}

/** Formats US dollars, with the digits that a small amount needs. */
export function dollars(value: number | null | undefined): string {
  if (!isNumber(value)) return NOTHING;
  const digits = value === 0 || value >= 100 ? 2 : value >= 0.01 ? 3 : 6;
  return `$${number(value, digits)}`;
}

function isNumber(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}
