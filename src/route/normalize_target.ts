import { GatewayError } from "../base/errors.ts";

/**
 * Normalizes a request target. Routing, policies and the upstream request all use the normalized target.
 *
 * Matching one spelling of a path and forwarding another would let clients bypass a route: `/open/../admin` must not match
 * `/open` here and be `/admin` upstream. So each target is normalized once, on arrival:
 *
 * - escapes of unreserved characters are decoded and other escapes are upper-cased: `/%6dcp` becomes `/mcp`, `%2f` becomes
 *   `%2F` (RFC 3986 section 6.2.2: equivalent spellings);
 * - dot segments are resolved, including `%2e` (RFC 3986 section 5.2.4);
 * - repeated slashes are kept, and `%2F` is not a slash: names such as `models/meta%2Fllama` contain it as data;
 * - targets that upstreams interpret differently are rejected: dot segments above the root, `..` joined to an encoded slash,
 *   backslash or path parameter (`..%2Fadmin`, `..;/`), a raw backslash, `#`, `%00`, and an invalid escape (`%zz`).
 *
 * Escapes need not be UTF-8: `%E4` is valid. The query is not changed.
 * @throws {GatewayError} `bad_request` with the reason.
 */
export function normalizeTarget(target: string): string {
  if (!suspicious.test(target)) return target;
  const end = pathEnd(target);
  const query = target.slice(end);
  const { path, problem } = query.includes("#")
    ? { problem: 'it contains "#"' }
    : normalizePath(target.slice(0, end));
  if (path !== undefined) return path + query;
  const message = `Invalid path: ${problem}`;
  throw new GatewayError("bad_request", "downstream", message);
}

/** A normalized path, or the reason why the path is invalid. */
export type NormalizedPath =
  | { readonly path: string; readonly problem?: undefined }
  | { readonly path?: undefined; readonly problem: string };

const suspicious = /[%\\#]|\/\.\.?(?:[/;?]|$)/;
const malformedEscape = /%(?![0-9a-fA-F]{2}).{0,2}/;
const rejected = /[\\#]|%00/;
const escapes = /%([0-9a-fA-F]{2})/g;
const unreserved = /^[A-Za-z0-9._~-]$/;
// Segments that some servers interpret as ".." or "." after decoding them or removing their parameters.
const disguisedDots = /(?:^|%2F|%5C)\.{1,2}(?:%2F|%5C|;)|(?:%2F|%5C)\.{1,2}$/;

/**
 * Normalizes the path of a target; also used for configured paths, so that both have the same form.
 */
export function normalizePath(path: string): NormalizedPath {
  const malformed = malformedEscape.exec(path);
  if (malformed !== null) {
    return { problem: `"${malformed[0]}" is not a percent-encoded byte` };
  }
  const decoded = path.replace(escapes, normalizeEscape);
  const forbidden = rejected.exec(decoded);
  if (forbidden !== null) return { problem: `it contains "${forbidden[0]}"` };
  const segments = decoded.split("/");
  const disguised = segments.find((segment) => disguisedDots.test(segment));
  if (disguised !== undefined) {
    return { problem: `some servers interpret "${disguised}" as dot segments` };
  }
  const resolved = removeDotSegments(segments);
  return resolved === undefined
    ? { problem: '".." segments lead above the root' }
    : { path: resolved };
}

function normalizeEscape(escape: string, hex: string): string {
  const character = String.fromCharCode(parseInt(hex, 16));
  return unreserved.test(character) ? character : escape.toUpperCase();
}

/** Resolves `.` and `..`; the first segment is the empty one before the leading slash. */
function removeDotSegments(segments: readonly string[]): string | undefined {
  const resolved: string[] = [];
  for (const [index, segment] of segments.entries()) {
    const isDot = segment === ".";
    if (!isDot && segment !== "..") {
      resolved.push(segment);
      continue;
    }
    if (!isDot && resolved.length < 2) return undefined;
    if (!isDot) resolved.pop();
    if (index === segments.length - 1) resolved.push("");
  }
  return resolved.join("/");
}

/** Returns the path of a request target. */
export function pathOf(target: string): string {
  return target.slice(0, pathEnd(target));
}

/** Returns the end of a target's path: the index of `?`, or the length. */
export function pathEnd(target: string): number {
  const mark = target.indexOf("?");
  return mark < 0 ? target.length : mark;
}
