/**
 * Returns the first value of a query parameter, decoded as in HTML forms (`+` is a space); `undefined` when it is absent.
 *
 * Invalid escapes are kept.
 * @param query Without `?`, such as `a=1&b=%20`.
 */
export function queryParam(query: string, name: string): string | undefined {
  let start = 0;
  while (start <= query.length) {
    const next = query.indexOf("&", start);
    const end = next < 0 ? query.length : next;
    const sign = query.indexOf("=", start);
    const nameEnd = sign < 0 || sign > end ? end : sign;
    if (nameEnd > start && decode(query.slice(start, nameEnd)) === name) {
      return decode(query.slice(nameEnd + 1, end));
    }
    start = end + 1;
  }
  return undefined;
}

function decode(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}
