import type { HeaderList } from "../../http/header_list.ts";

/**
 * Returns the freshness lifetime of a response in milliseconds; `undefined` when its headers do not specify one (RFC 9111
 * section 4.2.1).
 * @param now Milliseconds since the epoch; replaces a missing `Date`.
 */
export function freshnessOf(
  headers: HeaderList,
  now: number,
): number | undefined {
  const directives = headers.getJoined("cache-control") ?? "";
  if (/(?:^|[\s,])no-(?:store|cache)(?:$|[\s,=])/i.test(directives)) return 0;
  const [, seconds] = /(?:^|[\s,])max-age="?([0-9]{1,9})/i.exec(directives) ??
    [];
  if (seconds !== undefined) {
    const age = Number(headers.get("age") ?? 0);
    return Math.max(0, Number(seconds) - (age > 0 ? age : 0)) * 1000;
  }
  const expires = headers.get("expires");
  if (expires === undefined) return undefined;
  const date = parseDate(headers.get("date") ?? "");
  const lifetime = parseDate(expires) - (Number.isNaN(date) ? now : date);
  return Number.isNaN(lifetime) ? 0 : Math.max(0, lifetime);
}

/** Parses an HTTP date; returns `NaN` for other values, such as the common `0` and `-1`. */
function parseDate(text: string): number {
  return text.endsWith("GMT") ? Date.parse(text) : NaN;
}
