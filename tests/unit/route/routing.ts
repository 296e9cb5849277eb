import type { HttpMatch } from "../../../src/api/rules/http_match.ts";
import { loadPatterns } from "../../../src/base/pattern.ts";
import type { RoutableRequest } from "../../../src/route/route_match.ts";

await loadPatterns();

/** Creates a request to route; by default, `GET http://example.com/`. */
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

/** Creates a match on a path prefix and further conditions. */
export function prefix(
  value: string,
  more: Partial<HttpMatch> = {},
): HttpMatch {
  return { path: { type: "PathPrefix", value }, ...more };
}

/** Creates a match on a whole path and further conditions. */
export function exact(value: string, more: Partial<HttpMatch> = {}): HttpMatch {
  return { path: { type: "Exact", value }, ...more };
}

/** Creates a match of the whole path against a pattern. */
export function regex(value: string, more: Partial<HttpMatch> = {}): HttpMatch {
  return { path: { type: "RegularExpression", value }, ...more };
}

/** Creates exact conditions on headers or query parameters. */
export function values(pairs: Readonly<Record<string, string>>) {
  return Object.entries(pairs).map(([name, value]) => ({
    name,
    value,
    type: "Exact" as const,
  }));
}

/** Creates a pattern condition on a header or query parameter. */
export function pattern(name: string, value: string) {
  return [{ name, value, type: "RegularExpression" as const }];
}
