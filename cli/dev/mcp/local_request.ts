const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Whether the request was meant for this machine, by its `Host` and, when a browser sent one, its `Origin`.
 *
 * A page that rebinds its own name to 127.0.0.1 reaches a local server but cannot change these two
 * headers (MCP 2025-11-25, "Transports", security warning). Ports do not matter: behind a gateway the
 * `Host` is the gateway's.
 */
export function isLocalRequest(
  headers: Headers,
  allowedHosts: readonly string[],
): boolean {
  const isAllowed = (name: string | undefined) =>
    name !== undefined &&
    (loopbackNames.has(name) || allowedHosts.includes(name));
  const origin = headers.get("origin");
  return isAllowed(hostname(`http://${headers.get("host") ?? ""}`)) &&
    (origin === null || isAllowed(hostname(origin)));
}

function hostname(url: string): string | undefined {
  return URL.parse(url)?.hostname;
}
