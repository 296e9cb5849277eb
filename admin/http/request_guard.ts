import { splitHostPort } from "../../src/base/wire/host_port.ts";
import { isIpAddress } from "../../src/api/schema/scalars.ts";
import { text } from "./admin_responses.ts";

const loopback = new Set(["localhost", "127.0.0.1", "::1"]);
const wildcards = new Set(["0.0.0.0", "::"]);

/**
 * Returns 403 for requests that a malicious web page could make a browser send to a local server; `undefined` for all others.
 *
 * Detects DNS rebinding by `Host`, cross-origin posts by `Origin`, and images and frames in other pages, even of this machine,
 * by `Sec-Fetch-Site`.
 * @param ownHost Host and port under which a proxy in front of the server is known.
 */
export function guard(
  request: Request,
  boundHosts: readonly string[],
  ownHost?: string,
): Response | undefined {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  if (host !== ownHost && !isOwnHost(host, boundHosts)) {
    return text(
      403,
      "forbidden: Host must be localhost or the address that this server is bound to",
    );
  }
  const origin = request.headers.get("origin");
  const isCrossOrigin = origin !== null && !isOwnOrigin(origin, host);
  if (isCrossOrigin || isFromOtherPage(request)) {
    return text(403, "forbidden: cross-origin request");
  }
  return undefined;
}

function isOwnHost(host: string, boundHosts: readonly string[]): boolean {
  const name = hostnameOf(host);
  if (name === undefined) return false;
  if (loopback.has(name) || boundHosts.includes(name)) return true;
  // A server bound to all interfaces accepts any address; DNS rebinding requires a name.
  return isIpAddress(name) &&
    boundHosts.some((bound) => wildcards.has(bound));
}

/** Pages that other sites may link to or redirect to; their responses start nothing, unlike a profile. */
const linkedPages = new Set([
  "/",
  "/ui",
  "/ui/",
  "/ui/callback",
  "/self",
  "/ui/login",
  "/ui/login/callback",
]);

/** Reports whether a page of another site or port causes the request, other than by a link to a page. */
function isFromOtherPage({ method, headers, url }: Request): boolean {
  const site = headers.get("sec-fetch-site");
  if (site === null || site === "same-origin" || site === "none") return false;
  return method !== "GET" || headers.get("sec-fetch-dest") !== "document" ||
    !linkedPages.has(new URL(url).pathname);
}

function isOwnOrigin(origin: string, host: string): boolean {
  const match = /^https?:\/\/([^/]+)$/.exec(origin.toLowerCase());
  const originHost = match?.[1];
  if (originHost === undefined) return false;
  return originHost === host.toLowerCase() ||
    loopback.has(hostnameOf(originHost) ?? "");
}

/** Extracts the lower-case name or address of `host[:port]`; IPv6 addresses have no brackets. */
function hostnameOf(host: string): string | undefined {
  const hasPort = /:[0-9]+$/.test(host) &&
    (!host.startsWith("[") || host.includes("]:"));
  return splitHostPort(hasPort ? host : `${host}:0`)?.host.toLowerCase();
}
