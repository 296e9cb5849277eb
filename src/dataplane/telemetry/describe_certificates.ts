import { X509Certificate } from "node:crypto";
import type { Certificate, Snapshot } from "../../snapshot/snapshot.ts";

/** A hostname with a certificate. */
interface CertificateReading {
  readonly port: string;
  readonly hostname: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Expiry by certificate: reading one costs more than a whole collection. */
const expiries = new WeakMap<Certificate, number>();

/** Yields the hostnames of a configuration with the expiry of their certificate; of several, that which expires first. */
export function* describeCertificates(
  { ports }: Snapshot,
): Iterable<CertificateReading> {
  for (const { key: port, tls } of ports) {
    const byHostname = new Map<string, number>();
    for (const certificate of tls?.certificates ?? []) {
      const expiry = expiries.getOrInsertComputed(certificate, readExpiry);
      const { hostnames } = certificate;
      for (const hostname of hostnames.length === 0 ? ["*"] : hostnames) {
        const known = byHostname.get(hostname) ?? Infinity;
        byHostname.set(hostname, Math.min(known, expiry));
      }
    }
    for (const [hostname, expiresAt] of byHostname) {
      yield { port, hostname, expiresAt };
    }
  }
}

function readExpiry({ cert }: Certificate): number {
  return Date.parse(new X509Certificate(cert).validTo);
}
