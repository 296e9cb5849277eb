import { isIpAddress, isUpstreamHost } from "./scalars.ts";
import * as s from "./schema.ts";

const HOST_PORT_EXAMPLE =
  '"host:port" such as "api.example.com:443" or "[::1]:9000"';

/** Where a server of our own listens. */
export type Address =
  | {
    readonly kind: "tcp";
    readonly hosts: readonly string[];
    readonly port: number;
  }
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "off" };

/** A host and a port to connect to; an IPv6 address stands without its brackets. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Parts of `host:port` or `[ipv6]:port`; `undefined` when `text` is neither. Port 0 is allowed. */
export function splitHostPort(text: string): HostPort | undefined {
  const parts = /^(?:\[([^\]]+)\]|([^:[\]/]+)):([0-9]{1,5})$/.exec(text);
  const host = parts?.[1] ?? parts?.[2];
  const port = Number(parts?.[3]);
  if (host === undefined || port > 65535) return undefined;
  if ((parts?.[1] !== undefined) !== host.includes(":")) return undefined;
  return { host, port };
}

/**
 * Reads `ip:port`, `localhost:port` (both loopback addresses), `unix:<path>` or `off`.
 * Port 0 asks for any free port. `undefined` when `text` is none of them.
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

/** An address that `parseAddress` can read. */
export const listenAddress = s.named(
  "listen address",
  s.textThat(
    (text) => parseAddress(text) !== undefined,
    '"ip:port", "localhost:port", "unix:<path>" or "off"',
  ),
);

/** An upstream `host:port`; the messages tell the usual mistakes apart. */
export const hostAndPort = s.named(
  "host:port",
  s.refine(
    s.string(`expected ${HOST_PORT_EXAMPLE}`),
    s.rule(isHostPort, explainHostPort),
  ),
);

function explainHostPort(text: string): string {
  if (/^https:/i.test(text)) {
    return 'expected "host:port" without a scheme ("tls: {}" beside it makes it https)';
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

function isHostPort(text: string): boolean {
  const parts = splitHostPort(text);
  return parts !== undefined && parts.port > 0 && isUpstreamHost(parts.host);
}
