import { formatHostPort } from "../../base/wire/host_port.ts";

/** Address of a rate limit service, and how to verify it. */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
  /** `undefined` for plain text. */
  readonly tls: ServiceTls | undefined;
}

/** Verification of a service; a service that cannot be verified is not called. */
export interface ServiceTls {
  /** Server name sent and verified. */
  readonly hostname: string;
  /** Names accepted in place of `hostname`; empty for `hostname` alone. */
  readonly subjectAltNames: readonly string[];
  /** PEM certificates that replace the trusted roots; `undefined` for the system's. */
  readonly caCertificates: readonly string[] | undefined;
}

/** Formats an address: `ratelimit:8081` or `[::1]:8081`. */
export function formatAddress({ host, port }: ServiceAddress): string {
  return formatHostPort(host, port);
}
