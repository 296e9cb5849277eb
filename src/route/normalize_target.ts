import { GatewayError } from "../base/errors.ts";

/**
 * The one form of a request target on which routing and policies decide and which is sent upstream.
 *
 * Matching one spelling of a path and forwarding another lets a client reach what its route does not cover: `/open/../admin`
 * must not match `/open` here and be `/admin` there. So a target is brought into normal form once, on arrival:
 *
 * - escapes of unreserved characters are decoded and other escapes get capitals: `/%6dcp` is `/mcp`, `%2f` is `%2F`
 *   (RFC 3986 section 6.2.2, which calls both spellings equivalent);
 * - dot segments are resolved, also those spelled `%2e` (RFC 3986 section 5.2.4);
 * - repeated slashes stay and `%2F` is not a slash: names such as `models/meta%2Fllama` hold it as data;
 * - what upstreams read in different ways is refused: dot segments that leave the root, `..` joined to an encoded slash,
 *   backslash or path parameter (`..%2Fadmin`, `..;/`), a raw backslash, `#`, `%00`, and a `%` that begins no escape (`%zz`).
 *
 * Escapes need not be UTF-8: `%E4` passes. The query is left alone.
 * @throws {GatewayError} `bad_request`, and why.
 */
export function normalizeTarget(target: string): string {
  if (!suspicious.test(target)) return target;
  const end = pathEnd(target);
  const query = target.slice(end);
  const { path, problem } = query.includes("#")
    ? { problem: 'it holds "#"' }
    : normalizePath(target.slice(0, end));
  if (path !== undefined) return path + query;
  const message = `Cannot accept the path: ${problem}`;
  throw new GatewayError("bad_request", "downstream", message);
}

/** A path in its one form, or why it has none. */
export type NormalPath =
  | { readonly path: string; readonly problem?: undefined }
  | { readonly path?: undefined; readonly problem: string };

const suspicious = /[%\\#]|\/\.\.?(?:[/;?]|$)/;
const malformedEscape = /%(?![0-9a-fA-F]{2}).{0,2}/;
const refused = /[\\#]|%00/;
const escapes = /%([0-9a-fA-F]{2})/g;
const unreserved = /^[A-Za-z0-9._~-]$/;
// A segment that some servers take for ".." or "." after decoding it or cutting its parameters off.
const disguisedDots = /(?:^|%2F|%5C)\.{1,2}(?:%2F|%5C|;)|(?:%2F|%5C)\.{1,2}$/;

/**
 * The path part of `normalizeTarget`; also for paths in configuration, so that both are compared in the same form.
 */
export function normalizePath(path: string): NormalPath {
  const malformed = malformedEscape.exec(path);
  if (malformed !== null) {
    return { problem: `"${malformed[0]}" is not a percent-encoded byte` };
  }
  const decoded = path.replace(escapes, normalizeEscape);
  const forbidden = refused.exec(decoded);
  if (forbidden !== null) return { problem: `it holds "${forbidden[0]}"` };
  const segments = decoded.split("/");
  const disguised = segments.find((segment) => disguisedDots.test(segment));
  if (disguised !== undefined) {
    return { problem: `some servers read "${disguised}" as dot segments` };
  }
  const resolved = removeDotSegments(segments);
  return resolved === undefined
    ? { problem: 'its ".." segments lead above the root' }
    : { path: resolved };
}

function normalizeEscape(escape: string, hex: string): string {
  const character = String.fromCharCode(parseInt(hex, 16));
  return unreserved.test(character) ? character : escape.toUpperCase();
}

/** Resolves `.` and `..`; the first of `segments` is the empty one before the leading slash. */
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

/** The part of a request target before its query. */
export function pathOf(target: string): string {
  return target.slice(0, pathEnd(target));
}

/** Where the path of a target ends: the index of `?`, or the length. */
export function pathEnd(target: string): number {
  const mark = target.indexOf("?");
  return mark < 0 ? target.length : mark;
}
