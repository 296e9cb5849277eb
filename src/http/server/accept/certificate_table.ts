import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";

/** A certificate that a server shows. */
export interface ServerCertificate {
  /** Certificate and intermediates, PEM. */
  readonly cert: string;
  /** Private key, PEM. */
  readonly key: string;
  /** Names to show it for, such as `["a.example", "*.b.example"]`; those in the certificate if left out. */
  readonly names?: readonly string[];
}

/** What a server asks clients for. */
export interface ClientCertificates {
  /** `optional` lets clients without a certificate in; one that does not verify is refused in both modes. */
  readonly mode: "optional" | "required";
  /** Authorities that issue them, PEM. */
  readonly ca: string;
}

/** How a server proves who it is. */
export interface TlsConfig {
  /** Chosen by the name that the client asks for; the first is shown to the others. */
  readonly certificates: readonly [ServerCertificate, ...ServerCertificate[]];
  readonly clientCertificates?: ClientCertificates;
  /** `TLSv1.2` if left out. */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
}

/** Finds the certificate for a name. */
export class CertificateTable {
  readonly #default: SecureContext;
  readonly #byName = new Map<string, SecureContext>();

  /** @throws {TypeError} When a certificate or key cannot be read. */
  constructor(config: TlsConfig) {
    const [first, ...others] = config.certificates;
    this.#default = this.#add(first, config);
    for (const certificate of others) this.#add(certificate, config);
  }

  /** An exact name wins over a wildcard, which stands for any number of labels as in `Listener.hostname` (Gateway API). */
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
        // The first one wins, as with the default.
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
