import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";

/** A certificate of a server. */
export interface ServerCertificate {
  /** Certificate and intermediates, PEM. */
  readonly cert: string;
  /** Private key, PEM. */
  readonly key: string;
  /** Server names that it is for, such as `["a.example", "*.b.example"]`; default: those in the certificate. */
  readonly names?: readonly string[];
}

/** Client certificates that a server requests. */
export interface ClientCertificates {
  /** `optional` admits clients without a certificate, but none with an invalid one; `unverified` admits all. */
  readonly mode: "unverified" | "optional" | "required";
  /** Authorities that issue them, PEM. */
  readonly ca: string;
}

/** TLS settings of a server. */
export interface TlsConfig {
  /** Certificates, chosen by the server name of the client; the first one is the default. */
  readonly certificates: readonly [ServerCertificate, ...ServerCertificate[]];
  readonly clientCertificates?: ClientCertificates;
  /** Default: `TLSv1.2`. */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
}

/** Finds the certificate for a server name. */
export class CertificateTable {
  readonly #default: SecureContext;
  readonly #byName = new Map<string, SecureContext>();

  /** @throws {TypeError} When a certificate or key cannot be read. */
  constructor(config: TlsConfig) {
    const [first, ...others] = config.certificates;
    this.#default = this.#add(first, config);
    for (const certificate of others) this.#add(certificate, config);
  }

  /** Prefers an exact name to a wildcard, which matches any number of labels as in `Listener.hostname` (Gateway API). */
  find(serverName: string): SecureContext {
    const name = serverName.toLowerCase();
    const exact = this.#byName.get(name);
    if (exact !== undefined) return exact;
    for (
      let dot = name.indexOf(".");
      dot >= 0;
      dot = name.indexOf(".", dot + 1)
    ) {
      const wildcard = this.#byName.get("*" + name.slice(dot));
      if (wildcard !== undefined) return wildcard;
    }
    return this.#default;
  }

  #add(certificate: ServerCertificate, config: TlsConfig): SecureContext {
    const { cert, key } = certificate;
    try {
      const context = createSecureContext({
        cert,
        key,
        ...(config.clientCertificates && { ca: config.clientCertificates.ca }),
        minVersion: config.minVersion ?? "TLSv1.2",
      });
      for (const name of certificate.names ?? namesIn(cert)) {
        const lower = name.toLowerCase();
        // The first one takes precedence, as for the default.
        if (!this.#byName.has(lower)) this.#byName.set(lower, context);
      }
      return context;
    } catch (cause) {
      throw new TypeError(
        "Cannot use the certificate: it or its key cannot be read",
        {
          cause,
        },
      );
    }
  }
}

function namesIn(cert: string): string[] {
  const alternatives = new X509Certificate(cert).subjectAltName ?? "";
  return [...alternatives.matchAll(/DNS:([^,\s]+)/g)].map(([, name]) =>
    name ?? ""
  );
}
