/**
 * Reads the first value of each query parameter, decoded as in HTML forms (`+` is a space): `{ a: "1", b: " " }` for `a=1&b=%20`.
 *
 * Invalid escapes are kept.
 * @param query Without `?`.
 */
export function readQuery(query: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const pair of query.split("&")) {
    const sign = pair.indexOf("=");
    const nameEnd = sign < 0 ? pair.length : sign;
    const name = decode(pair.slice(0, nameEnd));
    if (nameEnd > 0 && !values.has(name)) {
      values.set(name, decode(pair.slice(nameEnd + 1)));
    }
  }
  return values;
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
