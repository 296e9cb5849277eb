import type { HttpMatch } from "../../../src/api/resources/http_match.ts";
import { loadPatterns } from "../../../src/base/pattern.ts";
import type { RoutableRequest } from "../../../src/route/route_match.ts";

await loadPatterns();

/** A request to route; fields left out are those of a plain `GET http://example.com/`. */
export function request(
  { method = "GET", target = "/", hostname = "example.com", headers = {} }: {
    readonly method?: string;
    readonly target?: string;
    readonly hostname?: string;
    readonly headers?: Readonly<Record<string, string>>;
  },
): RoutableRequest {
  return { method, target, hostname, header: (name) => headers[name] };
}

/** A match on a path prefix, and on what else is given. */
export function prefix(
  value: string,
  more: Partial<HttpMatch> = {},
): HttpMatch {
  return { path: { type: "PathPrefix", value }, ...more };
}

/** A match on a whole path, and on what else is given. */
export function exact(value: string, more: Partial<HttpMatch> = {}): HttpMatch {
  return { path: { type: "Exact", value }, ...more };
}

/** A match of the whole path against a pattern. */
export function regex(value: string, more: Partial<HttpMatch> = {}): HttpMatch {
  return { path: { type: "RegularExpression", value }, ...more };
}

/** Exact conditions on headers or query parameters. */
export function values(pairs: Readonly<Record<string, string>>) {
  return Object.entries(pairs).map(([name, value]) => ({
    name,
    value,
    type: "Exact" as const,
  }));
}

/** A pattern for a header or query parameter. */
export function pattern(name: string, value: string) {
  return [{ name, value, type: "RegularExpression" as const }];
}
