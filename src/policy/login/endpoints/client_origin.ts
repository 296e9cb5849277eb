import type { HeaderList } from "../../../http/header_list.ts";
import type { RequestMessage } from "../../../http/message.ts";
import { isAuthority } from "../../../http/server/contract/request_target.ts";
import { isIpAddress } from "../../../api/schema/scalars.ts";
import { pathOf } from "../../../route/normalize_target.ts";
import type { PolicyContext } from "../../contract/policy.ts";
import type { PolicyServices } from "../../contract/policy_services.ts";

/** Parts of a request with the address that the client used. */
type Addressed = Pick<RequestMessage, "scheme" | "authority" | "headers">;

/** Path prefix of the metadata of protected resources (RFC 9728 section 3.1). */
export const PROTECTED_RESOURCE_PREFIX =
  "/.well-known/oauth-protected-resource";

/**
 * Returns the origin that the client used, such as `https://gw.example.com:8443`.
 * @param trusted True if the peer is a proxy whose `X-Forwarded-Proto` and `X-Forwarded-Host` are trusted.
 */
export function clientOrigin(request: Addressed, trusted: boolean): string {
  const { scheme, authority, headers } = request;
  if (!trusted) return `${scheme}://${authority}`;
  const proto = firstOf(headers, "x-forwarded-proto")?.toLowerCase();
  const host = firstOf(headers, "x-forwarded-host");
  const ownScheme = proto === "http" || proto === "https" ? proto : scheme;
  const ownHost = host !== undefined && isAuthority(host) ? host : authority;
  return `${ownScheme}://${ownHost}`;
}

/** Returns the URL of a resource's metadata, such as `https://gw/.well-known/oauth-protected-resource/mcp`. */
export function resourceMetadataUrl(origin: string, path: string): string {
  return origin + PROTECTED_RESOURCE_PREFIX + (path === "/" ? "" : path);
}

/** Returns the path of the MCP server: the prefix that the route matches, else the path of the request. */
export function pathOfResource(
  { matchedPrefix, request }: PolicyContext,
): string {
  return matchedPrefix || pathOf(request.target).replace(/\/$/, "");
}

function firstOf(headers: HeaderList, name: string): string | undefined {
  return headers.get(name)?.split(",", 1)[0]?.trim();
}

/**
 * Returns the client of a request: the peer, or if that is a trusted proxy, the last address in `X-Forwarded-For` that is none. The port
 * is that of the connection.
 */
export function clientOf(
  { headers, source }: Pick<RequestMessage, "headers" | "source">,
  trustsPeer: PolicyServices["trustsPeer"],
): RequestMessage["source"] {
  if (!trustsPeer(source)) return source;
  let client = source;
  const forwarded = headers.getAll("x-forwarded-for").join(",").split(",");
  while (trustsPeer(client)) {
    const address = forwarded.pop()?.trim() ?? "";
    if (!isIpAddress(address)) break;
    client = { address, port: source.port };
  }
  return client;
}

/** Returns the IP address of the client. */
export function clientAddress(
  ...request: Parameters<typeof clientOf>
): string {
  return clientOf(...request).address;
}
