const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Reports whether `Host` and, if present, `Origin` name this machine.
 *
 * A web page that rebinds its own name to 127.0.0.1 reaches a local server but cannot change these two
 * headers (MCP 2025-11-25, "Transports", security warning). Ports are ignored: behind a gateway, `Host` has the gateway's.
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
