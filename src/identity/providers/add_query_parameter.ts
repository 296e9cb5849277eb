/**
 * Adds a query parameter to a URL unless it has one of that name. Only what a query must escape is escaped, so
 * `audience=https://mcp.example.com/mcp` stays readable (RFC 3986 section 3.4).
 */
export function withQueryParameter(
  url: string,
  name: string,
  value: string,
): string {
  const [rest = "", fragment] = splitAt(url, "#");
  const [base = "", query] = splitAt(rest, "?");
  if (new URLSearchParams(query ?? "").has(name)) return url;
  const pair = `${name}=${escape(value)}`;
  const joined = query === undefined || query === ""
    ? pair
    : `${query}&${pair}`;
  return `${base}?${joined}${fragment === undefined ? "" : `#${fragment}`}`;
}

function escape(value: string): string {
  return encodeURIComponent(value).replace(
    /%(?:3A|2F|3F|40|2C|3B|24|3D)/g,
    decodeURIComponent,
  );
}

function splitAt(
  text: string,
  separator: string,
): [string, string | undefined] {
  const index = text.indexOf(separator);
  return index < 0
    ? [text, undefined]
    : [text.slice(0, index), text.slice(index + 1)];
}
