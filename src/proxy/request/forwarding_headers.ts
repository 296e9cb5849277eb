import { BlockList, isIPv6 } from "node:net";
import type { HeaderList } from "../../http/header_list.ts";
import type { RequestMessage } from "../../http/message.ts";
import type { Peer } from "../../http/transport.ts";

const MAX_REQUEST_ID_LENGTH = 128;
const identityFields =
  /^(?:x-real-ip|x-forwarded-.*|x-request-id|forwarded|via|authorization)$/i;
const saneId = /^[\x21-\x7e]+$/;

/** Name of the gateway in `Via`. */
const VIA_NAME = "gateway";

/** Returns whether a peer is a proxy whose `X-Forwarded-*` fields are trusted. */
export type TrustsPeer = (peer: Peer) => boolean;

/** Returns the client's `x-request-id` when it is visible ASCII of at most 128 characters, else a random one. */
export function requestIdOf(headers: HeaderList): string {
  const given = headers.get("x-request-id");
  const sane = given !== undefined && given.length <= MAX_REQUEST_ID_LENGTH &&
    saneId.test(given);
  return sane ? given : crypto.randomUUID();
}

/**
 * Adds `X-Forwarded-For`, `-Proto`, `-Host`, `Forwarded` (RFC 7239), `Via` and `x-request-id`.
 *
 * Fields from a trusted proxy are extended; those from any other peer are replaced, so that they cannot be forged.
 */
export function addForwardingHeaders(
  request: RequestMessage,
  requestId: string,
  authority: string,
  trusted: boolean,
): void {
  const { headers, source, scheme } = request;
  const element = forwardedElement(source.address, authority, scheme);
  if (trusted) {
    appendToList(headers, "x-forwarded-for", source.address);
    setIfAbsent(headers, "x-forwarded-proto", scheme);
    setIfAbsent(headers, "x-forwarded-host", authority);
    appendToList(headers, "forwarded", element);
  } else {
    headers.deleteWhere(claimsIdentity);
    headers.set("x-forwarded-for", source.address);
    headers.set("x-forwarded-proto", scheme);
    headers.set("x-forwarded-host", authority);
    headers.set("forwarded", element);
  }
  addVia(headers, request.version);
  headers.set("x-request-id", requestId);
}

/**
 * Returns whether a client could impersonate another with a field: those that the gateway does not replace, `Proxy`, which CGI
 * reads as a setting (httpoxy), and names with an underscore, which CGI and WSGI confuse with ours.
 */
function claimsIdentity(name: string): boolean {
  if (name.includes("_")) return identityFields.test(name.replaceAll("_", "-"));
  // The length first: this runs for each field of each request.
  switch (name.length) {
    case 5:
      return name.toLowerCase() === "proxy";
    case 9:
      return name.toLowerCase() === "x-real-ip";
    case 16:
      return name.toLowerCase() === "x-forwarded-port";
    default:
      return false;
  }
}

/** Adds the gateway to `Via` (RFC 9110 section 7.6.3). */
export function addVia(headers: HeaderList, version: string): void {
  appendToList(headers, "via", `${version} ${VIA_NAME}`);
}

/** Returns an element such as `for="[::1]";host="example.com:80";proto=http`. */
function forwardedElement(
  address: string,
  authority: string,
  scheme: string,
): string {
  const node = address.includes(":") ? `"[${address}]"` : address;
  const host = authority.includes(":") ? `"${authority}"` : authority;
  return authority === ""
    ? `for=${node};proto=${scheme}`
    : `for=${node};host=${host};proto=${scheme}`;
}

function appendToList(headers: HeaderList, name: string, item: string): void {
  const current = headers.getJoined(name);
  headers.set(
    name,
    current === undefined || current === "" ? item : `${current}, ${item}`,
  );
}

/** Adds a field unless the message has it. */
export function setIfAbsent(
  headers: HeaderList,
  name: string,
  value: string,
): void {
  if (!headers.has(name)) headers.append(name, value);
}

/**
 * Recognizes trusted proxies by their address.
 * @param ranges Valid CIDR ranges or addresses, such as `10.0.0.0/8` or `::1`; an empty list trusts no peer.
 */
export function trustedProxies(ranges: readonly string[]): TrustsPeer {
  if (ranges.length === 0) return () => false;
  const list = new BlockList();
  for (const range of ranges) addRange(list, range);
  return ({ address }) => list.check(address, familyOf(address));
}

function addRange(list: BlockList, range: string): void {
  const [address = "", bits] = range.split("/");
  if (bits === undefined) list.addAddress(address, familyOf(address));
  else list.addSubnet(address, Number(bits), familyOf(address));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}
