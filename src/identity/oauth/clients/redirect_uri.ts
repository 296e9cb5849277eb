import { isConfidential } from "../../../base/wire/host_port.ts";

/** Limit of redirect URIs per client. */
export const MAX_REDIRECT_URIS = 10;
const MAX_LENGTH = 1024;

/** Schemes that make a browser or the operating system run or read something instead of opening the client. */
const forbiddenSchemes: ReadonlySet<string> = new Set([
  "about:",
  "blob:",
  "chrome:",
  "chrome-extension:",
  "data:",
  "edge:",
  "feed:",
  "file:",
  "filesystem:",
  "ftp:",
  "help:",
  "intent:",
  "itms-services:",
  "jar:",
  "javascript:",
  "ldap:",
  "ldaps:",
  "mailto:",
  "mk:",
  "moz-extension:",
  "res:",
  "search:",
  "search-ms:",
  "sftp:",
  "shell:",
  "smb:",
  "sms:",
  "ssh:",
  "tel:",
  "telnet:",
  "vbscript:",
  "view-source:",
  "vnc:",
  "ws:",
  "wss:",
  "x-apple.systempreferences:",
]);
/** Schemes by which Windows runs programs of its own, such as `ms-msdt:` (CVE-2022-30190). */
const WINDOWS_SCHEMES = "ms-";

/**
 * Returns why a client must not have this redirect URI; `undefined` when it may.
 *
 * Allowed: `https:` URLs, `http:` on loopback, and private-use schemes such as `cursor://callback` (RFC 8252 section 7).
 */
export function redirectUriProblem(uri: string): string | undefined {
  if (uri.length > MAX_LENGTH) return `longer than ${MAX_LENGTH} characters`;
  // Browsers strip or rewrite these characters: they would follow another URI than the one that was compared.
  if (/[^\x21-\x7e]|[\\<>"`^{|}]/.test(uri)) return "has a forbidden character";
  const url = URL.parse(uri);
  if (url === null) return "not an absolute URI";
  if (uri.includes("#")) return "has a fragment (RFC 6749 section 3.1.2)";
  if (url.username !== "" || url.password !== "") return "has user information";
  if (
    forbiddenSchemes.has(url.protocol) ||
    url.protocol.startsWith(WINDOWS_SCHEMES)
  ) return `has scheme "${url.protocol}"`;
  if (url.protocol === "http:" && !isConfidential(url)) {
    return "has plain HTTP to a host that is not loopback";
  }
  return undefined;
}

/**
 * Returns whether the client registered a redirect URI. It must match exactly, except for the port of loopback URIs, where native
 * clients use an ephemeral port (RFC 8252 section 7.3).
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

/** Reports whether a browser opens a URI with a program of the user's computer. */
export function opensProgram(uri: string): boolean {
  return !/^https?:/.test(uri);
}

/** Removes the port of a plain HTTP URI on loopback: `http://127.0.0.1/callback`; `undefined` for any other URI. */
export function withoutLoopbackPort(uri: string): string | undefined {
  const match =
    /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?([/?].*)?$/
      .exec(uri);
  if (match === null || !URL.canParse(uri)) return undefined;
  const [, origin = "", rest = ""] = match;
  return origin + rest;
}
