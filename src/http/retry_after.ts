import type { Clock } from "../base/clock.ts";
import type { HeaderList } from "./header_list.ts";

/**
 * Returns the pause that a response asks for, in milliseconds: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110
 * section 10.2.3); `undefined` without a valid one.
 */
export function readRetryAfter(
  headers: HeaderList,
  clock: Pick<Clock, "now">,
): number | undefined {
  const milliseconds = headers.get("retry-after-ms");
  if (milliseconds !== undefined && /^[0-9]{1,12}$/.test(milliseconds)) {
    return Number(milliseconds);
  }
  const value = headers.get("retry-after");
  if (value === undefined) return undefined;
  if (/^[0-9]{1,9}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - clock.now());
}
