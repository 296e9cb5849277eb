/** Parts of an origin such as `https://app.example.com:8443`, in lower case. */
interface Origin {
  readonly scheme: string;
  readonly host: string;
  /** Default port of the scheme unless given; empty when the scheme has none. */
  readonly port: string;
}

/**
 * Compiles allowed origins to a test of the `Origin` header (Gateway API, `HTTPCORSFilter.allowOrigins`).
 *
 * In a pattern, host `*` matches any host, `*.example.com` all its subdomains at any depth, port `*` any port. Scheme and port
 * always count. `*` alone matches every origin, including `null`.
 */
export function compileOrigins(
  patterns: readonly string[],
): (origin: string) => boolean {
  if (patterns.includes("*")) return () => true;
  const exact = new Set(patterns.filter((pattern) => !pattern.includes("*")));
  const allowed = patterns.map(parseOrigin).filter((item) =>
    item !== undefined
  );
  return (text) => {
    if (exact.has(text)) return true;
    const origin = parseOrigin(text);
    return origin !== undefined &&
      !origin.host.includes("*") &&
      allowed.some((pattern) => matchesOrigin(pattern, origin));
  };
}

const originParts =
  /^([a-z][a-z0-9+.-]*):\/\/(\[[0-9a-f:.]+\]|[^/:?#@[\],\s]+)(?::([0-9]{1,5}|\*))?$/;
const wellKnownPorts = new Map([["http", "80"], ["https", "443"]]);

function parseOrigin(text: string): Origin | undefined {
  const [, scheme, host, port] = originParts.exec(text.toLowerCase()) ?? [];
  if (scheme === undefined || host === undefined) return undefined;
  return { scheme, host, port: port ?? wellKnownPorts.get(scheme) ?? "" };
}

function matchesOrigin(pattern: Origin, origin: Origin): boolean {
  return pattern.scheme === origin.scheme &&
    (pattern.port === "*" || pattern.port === origin.port) &&
    matchesHost(pattern.host, origin.host);
}

function matchesHost(pattern: string, host: string): boolean {
  if (pattern === "*") return true;
  if (!pattern.startsWith("*")) return pattern === host;
  const suffix = pattern.slice(1);
  return host.length > suffix.length && host.endsWith(suffix);
}
