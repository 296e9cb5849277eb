import { splitHostPort } from "../../base/wire/host_port.ts";
import { isIpAddress, isUpstreamHost } from "./scalars.ts";
import * as s from "./schema.ts";

const HOST_PORT_EXAMPLE =
  '"host:port" such as "api.example.com:443" or "[::1]:9000"';

/** Listen address of the admin or stats server. */
export type Address =
  | {
    readonly kind: "tcp";
    readonly hosts: readonly string[];
    readonly port: number;
  }
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "off" };

/**
 * Parses `ip:port`, `localhost:port` (both loopback addresses), `unix:<path>` or `off`; returns `undefined` otherwise.
 * Port 0 stands for an ephemeral port.
 */
export function parseAddress(text: string): Address | undefined {
  if (text === "off") return { kind: "off" };
  if (text.startsWith("unix:")) {
    return text.length > 5 ? { kind: "unix", path: text.slice(5) } : undefined;
  }
  const parts = splitHostPort(text);
  if (parts === undefined) return undefined;
  const { host, port } = parts;
  if (host === "localhost") {
    return { kind: "tcp", hosts: ["127.0.0.1", "::1"], port };
  }
  return isIpAddress(host) ? { kind: "tcp", hosts: [host], port } : undefined;
}

/** An address that `parseAddress` accepts. */
export const listenAddress = s.named(
  "listen address",
  s.checkedText(
    (text) => parseAddress(text) !== undefined,
    '"ip:port", "localhost:port", "unix:<path>" or "off"',
  ),
);

/** An upstream `host:port`; each common mistake has its own message. */
export const hostAndPort = s.named(
  "host:port",
  s.refine(
    s.string(`expected ${HOST_PORT_EXAMPLE}`),
    s.rule(isHostPort, explainHostPort),
  ),
);

function explainHostPort(text: string): string {
  if (/^https:/i.test(text)) {
    return 'expected "host:port" without a scheme (for HTTPS, add "tls: {}" beside it)';
  }
  if (text.includes("://")) return 'expected "host:port" without a scheme';
  if (/[/?#]/.test(text)) return 'expected "host:port" without a path';
  if (/^[0-9a-f.]*:[0-9a-f.]*:[0-9a-f:.]+$/i.test(text)) {
    return 'expected an IPv6 address in brackets and a port such as "[::1]:9000"';
  }
  const [, tooLarge] = /:([0-9]{5,})$/.exec(text) ?? [];
  if (tooLarge !== undefined && Number(tooLarge) > 65535) {
    return `expected "host:port", but port ${tooLarge} is above 65535`;
  }
  if (isUpstreamHost(text)) {
    return 'expected "host:port", but the port is missing';
  }
  return `expected ${HOST_PORT_EXAMPLE}`;
}

/** Reports whether a string is `host:port` of a server to connect to. */
export function isHostPort(text: string): boolean {
  const parts = splitHostPort(text);
  return parts !== undefined && parts.port > 0 && isUpstreamHost(parts.host);
}
