/** Most redirect URIs that one client may have. */
export const MAX_REDIRECT_URIS = 10;
const MAX_LENGTH = 1024;

/** Schemes with which a browser would run or read something instead of calling the client. */
const forbiddenSchemes: ReadonlySet<string> = new Set([
  "about:",
  "blob:",
  "data:",
  "file:",
  "filesystem:",
  "ftp:",
  "javascript:",
  "vbscript:",
  "view-source:",
  "ws:",
  "wss:",
]);

/**
 * Says why a client must not have this redirect URI; `undefined` when it may.
 *
 * Allowed: `https:` URLs, `http:` on loopback, and private-use schemes such as `cursor://callback` (RFC 8252 section 7).
 */
export function redirectUriProblem(uri: string): string | undefined {
  if (uri.length > MAX_LENGTH) return `longer than ${MAX_LENGTH} characters`;
  // Browsers strip or rewrite these characters, so the URI that was compared would not be the one that is followed.
  if (/[^\x21-\x7e]|[\\<>"`^{|}]/.test(uri)) return "has a forbidden character";
  const url = URL.parse(uri);
  if (url === null) return "not an absolute URI";
  if (uri.includes("#")) return "has a fragment (RFC 6749 section 3.1.2)";
  if (url.username !== "" || url.password !== "") return "has user information";
  if (forbiddenSchemes.has(url.protocol)) return `has scheme "${url.protocol}"`;
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    return "plain HTTP to another host than loopback";
  }
  return undefined;
}

/**
 * Whether a requested redirect URI is one that the client registered: character by character, except that the port of a
 * loopback URI is free, since a native client learns it when it opens its socket (RFC 8252 section 7.3).
 */
export function isRegisteredRedirectUri(
  requested: string,
  registered: readonly string[],
): boolean {
  if (registered.includes(requested)) return true;
  const portless = withoutLoopbackPort(requested);
  return portless !== undefined &&
    registered.some((uri) => withoutLoopbackPort(uri) === portless);
}

/** The URI without its port when it is plain HTTP on loopback, such as `http://127.0.0.1/callback`; otherwise `undefined`. */
export function withoutLoopbackPort(uri: string): string | undefined {
  const match =
    /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?([/?].*)?$/
      .exec(uri);
  if (match === null) return undefined;
  const [, origin = "", rest = ""] = match;
  return origin + rest;
}

/** Whether a hostname of a parsed URL is this machine: `127.0.0.1`, `[::1]` or `localhost`. */
export function isLoopback(hostname: string): boolean {
  return ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
}
