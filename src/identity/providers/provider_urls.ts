/** Returns the URL of authorization server metadata, with the well-known part before the issuer's path (RFC 8414 section 3.1). */
export function insertedMetadataUrl(issuer: string): string {
  const { origin, pathname } = new URL(issuer);
  return `${origin}/.well-known/oauth-authorization-server${trimmed(pathname)}`;
}

/** Returns the URL of OpenID Connect discovery, with the well-known part after the issuer (OpenID Connect Discovery section 4). */
export function appendedMetadataUrl(issuer: string): string {
  const { origin, pathname } = new URL(issuer);
  return `${origin}${trimmed(pathname)}/.well-known/openid-configuration`;
}

function trimmed(path: string): string {
  return path.replace(/\/$/, "");
}

/**
 * Adds a query parameter to a URL unless it has one of that name. Escapes only what RFC 3986 section 3.4 requires, so that
 * `audience=https://mcp.example.com/mcp` stays readable.
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
