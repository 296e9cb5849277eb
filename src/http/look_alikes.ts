import type { HeaderList } from "./header_list.ts";

/** Characters of names that applications may read as `_`, as they do `-`: `_` itself; `.` in PHP; all in CGI of some servers. */
const separator = /[^a-zA-Z0-9-]/;
const separators = new RegExp(separator, "g");

/**
 * Returns a function that removes fields whose names differ from `names` only in separators, such as `X_User` and `X.User` for
 * `x-user`. CGI, WSGI and PHP read them as one field, so a client could replace a field that the gateway sets.
 */
export function lookAlikeRemover(
  names: Iterable<string>,
): (headers: HeaderList) => void {
  const own = new Set([...names].map((name) => name.toLowerCase()));
  const canonical = new Set([...own].map(withDashes));
  const hasSeparator = [...own].some((name) => separator.test(name));
  const isLookAlike = (name: string) =>
    (hasSeparator || separator.test(name)) &&
    canonical.has(withDashes(name.toLowerCase())) &&
    !own.has(name.toLowerCase());
  return own.size === 0 ? () => {} : (headers) => {
    headers.deleteWhere(isLookAlike);
  };
}

function withDashes(name: string): string {
  return name.replaceAll(separators, "-");
}
