import type { HeaderList } from "../http/header_list.ts";
import type { RequestMessage } from "../http/message.ts";
import type { Peer } from "../http/transport.ts";

const MAX_REQUEST_ID_LENGTH = 128;
const unreplaced = /^(?:x-real-ip|x-forwarded-port|proxy)$/i;
const identityFields =
  /^(?:x-real-ip|x-forwarded-.*|x-request-id|forwarded|via|authorization)$/i;
const saneId = /^[\x21-\x7e]+$/;

/** Name under which the gateway stands in `Via`. */
const VIA_NAME = "gateway";

/** Whether an address belongs to a proxy whose `X-Forwarded-*` fields can be believed. */
export type TrustsPeer = (peer: Peer) => boolean;

/** The client's `x-request-id` when it is sane (visible ASCII, at most 128), else a new random one. */
export function requestIdOf(headers: HeaderList): string {
  const given = headers.get("x-request-id");
  const sane = given !== undefined && given.length <= MAX_REQUEST_ID_LENGTH &&
    saneId.test(given);
  return sane ? given : crypto.randomUUID();
}

/**
 * Tells the upstream who is asking: `X-Forwarded-For`, `-Proto`, `-Host`, `Forwarded` (RFC 7239), `Via` and `x-request-id`.
 *
 * What a peer says of itself is kept only when it is a trusted proxy; anybody else's is replaced, so that it cannot be forged.
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
 * Fields by which a client could pass for somebody else: those that we do not replace, `Proxy`, which CGI takes for a setting
 * (httpoxy), and names with an underscore, which CGI and WSGI cannot tell from ours.
 */
function claimsIdentity(name: string): boolean {
  if (name.includes("_")) return identityFields.test(name.replaceAll("_", "-"));
  return unreplaced.test(name);
}

/** Adds the gateway to `Via` (RFC 9110 section 7.6.3). */
export function addVia(headers: HeaderList, version: string): void {
  appendToList(headers, "via", `${version} ${VIA_NAME}`);
}

/** Such as `for="[::1]";host="example.com:80";proto=http`. */
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

/** Adds the field unless the message has it. */
export function setIfAbsent(
  headers: HeaderList,
  name: string,
  value: string,
): void {
  if (!headers.has(name)) headers.append(name, value);
}
