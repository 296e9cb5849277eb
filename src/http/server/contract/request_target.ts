import type { RequestHead } from "../../http1/head_parser.ts";
import { badRequest, connectNotSupported } from "./request_error.ts";

/** Authority and target of a request. */
export interface RequestTarget {
  /** `host` or `host:port`; empty for an HTTP/1.0 request without host. */
  readonly authority: string;
  /** Path and query, or `*`. */
  readonly target: string;
}

const absoluteForm = /^https?:\/\/([^/?]*)(.*)$/i;
/**
 * Names, IPv4 and bracketed IPv6 addresses, with or without a port.
 *
 * Narrower than RFC 3986: no percent-encoding, sub-delimiters and user information. They are useless in names, and
 * implementations interpret them differently.
 */
const authorityForm =
  /^(?:[a-z0-9._~-]+|\[[0-9a-f:.]{2,45}\])(?::(\d{1,5}))?$/i;
const originForm = /^\/[!"$-~]*$/;
const MAX_PORT = 65_535;

/**
 * Determines authority and path of a request (RFC 9112 section 3.2).
 * @throws {GatewayError} `bad_request`; `method_not_supported` for CONNECT.
 */
export function resolveTarget(head: RequestHead): RequestTarget {
  if (head.method === "CONNECT") throw connectNotSupported();
  const host = hostOf(head);
  const { target } = head;
  if (target.includes("#")) {
    throw badRequest("Cannot accept a fragment in the request target");
  }
  if (target.startsWith("/")) return { authority: host, target };
  if (target === "*") {
    if (head.method === "OPTIONS") return { authority: host, target };
    throw badRequest('Cannot accept the request target "*" except for OPTIONS');
  }
  return fromAbsoluteForm(head.method, target);
}

/** Reports whether `target` is a path, or `*` for OPTIONS, in visible ASCII without a fragment. */
export function isTarget(method: string, target: string): boolean {
  if (target === "*") return method === "OPTIONS";
  return originForm.test(target);
}

/** Most requests have the authority of the one before. */
let lastValid = "";

/** Reports whether `text` is a valid host with an optional port. */
export function isAuthority(text: string): boolean {
  if (text === lastValid && text !== "") return true;
  const match = authorityForm.exec(text);
  if (match === null || Number(match[1] ?? 0) > MAX_PORT) return false;
  lastValid = text;
  return true;
}

function hostOf(head: RequestHead): string {
  const host = head.headers.get("host");
  if (host === undefined) {
    if (head.minorVersion === 0) return "";
    throw badRequest("Cannot accept an HTTP/1.1 request without Host");
  }
  if (head.headers.count("host") > 1) {
    throw badRequest("Cannot accept two Host headers");
  }
  if (!isAuthority(host)) {
    throw badRequest("Cannot read Host: expected a name with an optional port");
  }
  return host;
}

/** Parses the absolute form, which takes precedence over `Host` (RFC 9112 section 3.2.2). */
function fromAbsoluteForm(method: string, target: string): RequestTarget {
  const [, authority = "", rest = ""] = absoluteForm.exec(target) ?? [];
  if (!isAuthority(authority)) {
    throw badRequest("Cannot read the request target");
  }
  if (rest.startsWith("/")) return { authority, target: rest };
  if (rest === "" && method === "OPTIONS") return { authority, target: "*" };
  return { authority, target: "/" + rest };
}
