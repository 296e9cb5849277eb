/** A host and port to connect to; IPv6 addresses have no brackets. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Splits `host:port` or `[ipv6]:port`; returns `undefined` when `text` is neither. Accepts port 0. */
export function splitHostPort(text: string): HostPort | undefined {
  const parts = /^(?:\[([^\]]+)\]|([^:[\]/]+)):([0-9]{1,5})$/.exec(text);
  const host = parts?.[1] ?? parts?.[2];
  const port = Number(parts?.[3]);
  if (host === undefined || port > 65535) return undefined;
  if ((parts?.[1] !== undefined) !== host.includes(":")) return undefined;
  return { host, port };
}

/** Formats host and port for URLs and logs: `10.0.0.1:80`, `[::1]:80`. */
export function formatHostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Returns whether an eavesdropper cannot read what is sent to a URL: HTTPS, or plain HTTP on loopback. */
export function isConfidential({ protocol, hostname }: URL): boolean {
  return protocol === "https:" ||
    protocol === "http:" &&
      ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
}

/** Returns host and port of a valid `http` or `https` URL; IPv6 addresses have no brackets. */
export function addressOfUrl(url: string): HostPort {
  const { protocol, hostname, port } = new URL(url);
  return {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  };
}
