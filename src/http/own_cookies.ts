import type { HeaderList } from "./header_list.ts";

/**
 * Reads the cookies of the gateway, whose names begin with a prefix. One that is there twice is empty: the second was set by another
 * program on this host.
 */
export function readOwnCookies(
  headers: HeaderList,
  prefix: string,
): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  for (const pair of pairsOf(headers)) {
    if (!pair.startsWith(prefix)) continue;
    const at = pair.indexOf("=");
    if (at < 0) continue;
    const name = pair.slice(0, at).trim();
    cookies.set(name, cookies.has(name) ? "" : pair.slice(at + 1).trim());
  }
  return cookies;
}

/** Removes the cookies of the gateway, whose names begin with a prefix, from a request that goes upstream. */
export function removeOwnCookies(headers: HeaderList, prefix: string): void {
  if (!headers.getAll("cookie").some((field) => field.includes(prefix))) return;
  const kept = pairsOf(headers)
    .filter((pair) => pair !== "" && !pair.startsWith(prefix));
  headers.delete("cookie");
  if (kept.length > 0) headers.append("cookie", kept.join("; "));
}

/**
 * Writes the `Set-Cookie` value of a cookie of the gateway, whose name begins with `__Host-`. `Lax`, because the redirect of a provider
 * to the callback is a navigation from another site.
 * @param lifetimeMs 0 removes the cookie.
 */
export function setCookie(
  name: string,
  value: string,
  lifetimeMs: number,
): string {
  return `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${
    Math.floor(lifetimeMs / 1000)
  }`;
}

function pairsOf(headers: HeaderList): readonly string[] {
  return headers.getAll("cookie").flatMap((field) => field.split(";"))
    .map((pair) => pair.trim());
}
