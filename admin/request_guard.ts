import { splitHostPort } from "../src/base/host_port.ts";
import { isIpAddress } from "../src/api/schema/scalars.ts";
import { text } from "./admin_responses.ts";

const loopback = new Set(["localhost", "127.0.0.1", "::1"]);
const everyInterface = new Set(["0.0.0.0", "::"]);

/**
 * Refuses, with 403, what a web page elsewhere could make a browser send to a server on this machine.
 *
 * A name that an attacker's DNS points at us shows in `Host` (DNS rebinding); a post from another site shows in `Origin`,
 * an image or a frame in another page, even of this machine, in `Sec-Fetch-Site`. `undefined` lets the request pass.
 */
export function guard(
  request: Request,
  boundHosts: readonly string[],
): Response | undefined {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  if (!isOwnHost(host, boundHosts)) {
    return text(
      403,
      "forbidden: the Host header must be localhost or the address that this server is bound to",
    );
  }
  const origin = request.headers.get("origin");
  const isForeign = origin !== null && !isOwnOrigin(origin, host);
  if (isForeign || isFromOtherPage(request)) {
    return text(403, "forbidden: requests from other sites are refused");
  }
  return undefined;
}

function isOwnHost(host: string, boundHosts: readonly string[]): boolean {
  const name = hostnameOf(host);
  if (name === undefined) return false;
  if (loopback.has(name) || boundHosts.includes(name)) return true;
  // Bound to every interface, any address of this machine is ours; rebinding needs a name.
  return isIpAddress(name) &&
    boundHosts.some((bound) => everyInterface.has(bound));
}

/** Pages that other sites may link to; their responses start nothing, unlike a profile. */
const linkedPages = new Set(["/", "/ui"]);

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

/** The lower-case name or address of `host[:port]`, an IPv6 address without brackets. */
function hostnameOf(host: string): string | undefined {
  const hasPort = /:[0-9]+$/.test(host) &&
    (!host.startsWith("[") || host.includes("]:"));
  return splitHostPort(hasPort ? host : `${host}:0`)?.host.toLowerCase();
}
