/**
 * Creates certificates during tests, so that none expires in the repository.
 *
 * @module
 */
import * as x509 from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 24 * 60 * 60 * 1000;
let serial = 0;

/** A certificate with its private key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** An authority that issues certificates and whose own certificate clients trust. */
export interface CertificateAuthority {
  /** The authority's certificate (PEM). */
  readonly cert: string;
  /** Issues a certificate for names and addresses such as `["a.example", "*.b.example", "127.0.0.1"]`. */
  issueServer(names: readonly string[]): Promise<KeyPair>;
  /** Issues a certificate that expired yesterday. */
  issueExpired(names: readonly string[]): Promise<KeyPair>;
  /** Issues a client certificate. */
  issueClient(commonName: string): Promise<KeyPair>;
}

/** Creates an authority. */
export async function createAuthority(
  commonName = "Test CA",
): Promise<CertificateAuthority> {
  const keys = await generateKeys();
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(),
    name: `CN=${commonName}`,
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
        true,
      ),
    ],
  });
  const issue = async (
    subject: string,
    extensions: x509.Extension[],
    notAfter?: Date,
  ): Promise<KeyPair> => {
    const own = await generateKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      ...validity(notAfter),
      subject: `CN=${subject}`,
      issuer: authority.subject,
      signingAlgorithm: algorithm,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      extensions,
    });
    return {
      cert: certificate.toString("pem"),
      key: await exportKey(own.privateKey),
    };
  };
  return {
    cert: authority.toString("pem"),
    issueServer: (names) =>
      issue(names[0] ?? "server", serverExtensions(names)),
    issueExpired: (names) =>
      issue(
        names[0] ?? "server",
        serverExtensions(names),
        new Date(Date.now() - DAY_MS),
      ),
    issueClient: (name) =>
      issue(name, [
        new x509.ExtendedKeyUsageExtension([
          x509.ExtendedKeyUsage.clientAuth,
        ]),
      ]),
  };
}

function serverExtensions(names: readonly string[]): x509.Extension[] {
  return [
    new x509.SubjectAlternativeNameExtension(names.map(alternativeName)),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
  ];
}

function alternativeName(name: string): x509.JsonGeneralName {
  const isAddress = /^[\d.]+$|:/.test(name);
  if (name.includes("://")) return { type: "url", value: name };
  return { type: isAddress ? "ip" : "dns", value: name };
}

function validity(notAfter = new Date(Date.now() + DAY_MS)) {
  return {
    serialNumber: (++serial).toString(16).padStart(2, "0"),
    notBefore: new Date(notAfter.getTime() - 2 * DAY_MS),
    notAfter,
  };
}

async function generateKeys(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
}

async function exportKey(key: CryptoKey): Promise<string> {
  const der = new Uint8Array(await crypto.subtle.exportKey("pkcs8", key));
  const base64 = der.toBase64().replace(/.{64}/g, "$&\n");
  return `-----BEGIN PRIVATE KEY-----\n${base64}\n-----END PRIVATE KEY-----\n`;
}
