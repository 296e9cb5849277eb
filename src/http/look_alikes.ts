import type { HeaderList } from "./header_list.ts";

/**
 * Returns a function that removes fields whose names differ from `names` only in `_` and `-`, such as `X_User` for `x-user`.
 * CGI and WSGI read both as one field, so a client could replace a field that the gateway sets.
 */
export function lookAlikeRemover(
  names: Iterable<string>,
): (headers: HeaderList) => void {
  const own = new Set([...names].map((name) => name.toLowerCase()));
  const canonical = new Set([...own].map(withDashes));
  const hasUnderscore = [...own].some((name) => name.includes("_"));
  const isLookAlike = (name: string) =>
    (hasUnderscore || name.includes("_")) &&
    canonical.has(withDashes(name.toLowerCase())) &&
    !own.has(name.toLowerCase());
  return own.size === 0 ? () => {} : (headers) => {
    headers.deleteWhere(isLookAlike);
  };
}

function withDashes(name: string): string {
  return name.replaceAll("_", "-");
}
