/**
 * Hostnames of listeners and routes: lower case, `*` for any, `*.example.com` for every name below `example.com`.
 */

/** Extracts the hostname of an authority: lower case, without port and trailing dot; `[::1]` keeps its brackets. */
export function hostnameOf(authority: string): string {
  const end = portStart(authority);
  const name = (end < 0 ? authority : authority.slice(0, end)).toLowerCase();
  return name.endsWith(".") ? name.slice(0, -1) : name;
}

function portStart(authority: string): number {
  const colon = authority.lastIndexOf(":");
  return colon > authority.lastIndexOf("]") ? colon : -1;
}

/** Reports whether `pattern` matches `hostname`; a wildcard matches one or more labels. */
export function matchesHostname(pattern: string, hostname: string): boolean {
  if (pattern === "*") return true;
  if (!isWildcard(pattern)) return pattern === hostname;
  return hostname.length >= pattern.length &&
    hostname.endsWith(pattern.slice(1));
}

/**
 * Returns the hosts that both a listener and a route match, which is always the more specific pattern; `undefined` when
 * there are none. Gateway API, `HTTPRouteSpec.hostnames`.
 */
export function intersectHostnames(
  listener: string,
  route: string,
): string | undefined {
  if (covers(listener, route)) return route;
  if (covers(route, listener)) return listener;
  return undefined;
}

function covers(wide: string, narrow: string): boolean {
  if (wide === narrow || wide === "*") return true;
  if (!isWildcard(wide)) return false;
  return narrow.length >= wide.length && narrow.endsWith(wide.slice(1));
}

/**
 * Orders patterns from most to least specific: exact names before wildcards, longer before shorter.
 * Gateway API: "the largest number of characters in a matching non-wildcard hostname, characters in a matching hostname".
 */
export function compareHostnames(a: string, b: string): number {
  return Number(isWildcard(a)) - Number(isWildcard(b)) || b.length - a.length;
}

/** Reports whether `pattern` is `*` or begins with `*.`. */
export function isWildcard(pattern: string): boolean {
  return pattern.charCodeAt(0) === 0x2a;
}

/**
 * Selects the listener for a host: the most specific one, even if it has no route for the request.
 *
 * @param listeners Most specific hostname first; see `compareHostnames`.
 */
export function selectListener<T extends { readonly hostname: string }>(
  listeners: readonly T[],
  hostname: string,
): T | undefined {
  for (const listener of listeners) {
    if (matchesHostname(listener.hostname, hostname)) return listener;
  }
  return undefined;
}
