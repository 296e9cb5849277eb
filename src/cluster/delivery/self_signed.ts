import { generateKeyPairSync, sign } from "node:crypto";

/** A certificate with its private key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

const YEARS = 10;
const DAY_MS = 24 * 60 * 60 * 1000;
const SERIAL_BYTES = 16;

/** Types of ASN.1. https://www.itu.int/rec/T-REC-X.690 */
const tags = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  identifier: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
  dnsName: 0x82,
  version: 0xa0,
  extensions: 0xa3,
} as const;

const ECDSA_WITH_SHA256 = "2a8648ce3d040302";
const COMMON_NAME = "550403";
const SUBJECT_ALT_NAME = "551d11";

/**
 * Creates a server certificate for one DNS name, signed with its own key (RFC 5280): clients that trust it trust no other.
 * @param now Milliseconds since the epoch.
 */
export function createSelfSigned(host: string, now: number): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
  });
  const name = sequence(
    der(
      tags.set,
      sequence(identifier(COMMON_NAME), der(tags.utf8, text("gateway"))),
    ),
  );
  const algorithm = sequence(identifier(ECDSA_WITH_SHA256));
  const until = new Date(now);
  until.setUTCFullYear(until.getUTCFullYear() + YEARS);
  const certificate = sequence(
    der(tags.version, der(tags.integer, Uint8Array.of(2))),
    der(tags.integer, createSerial()),
    algorithm,
    name,
    sequence(time(new Date(now - DAY_MS)), time(until)),
    name,
    new Uint8Array(publicKey.export({ type: "spki", format: "der" })),
    der(
      tags.extensions,
      sequence(sequence(
        identifier(SUBJECT_ALT_NAME),
        der(tags.octetString, sequence(der(tags.dnsName, text(host)))),
      )),
    ),
  );
  const signature = new Uint8Array(sign("sha256", certificate, privateKey));
  const signed = sequence(
    certificate,
    algorithm,
    der(tags.bitString, Uint8Array.of(0), signature),
  );
  return {
    cert: pem(signed),
    key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
}

function der(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const size = length < 0x80
    ? [length]
    : length < 0x100
    ? [0x81, length]
    : [0x82, length >> 8, length & 0xff];
  const result = new Uint8Array(1 + size.length + length);
  result.set([tag, ...size]);
  let offset = 1 + size.length;
  for (const part of parts) {
    result.set(part, offset);
    offset += part.length;
  }
  return result;
}

function sequence(...parts: readonly Uint8Array[]): Uint8Array {
  return der(tags.sequence, ...parts);
}

function identifier(hex: string): Uint8Array {
  return der(tags.identifier, Uint8Array.fromHex(hex));
}

function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

function time(date: Date): Uint8Array {
  const digits = date.toISOString().replaceAll(/\D/g, "").slice(2, 14);
  return der(tags.utcTime, text(`${digits}Z`));
}

/** Positive, and without a leading zero byte. */
function createSerial(): Uint8Array {
  const serial = crypto.getRandomValues(new Uint8Array(SERIAL_BYTES));
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  return serial;
}

function pem(bytes: Uint8Array): string {
  const base64 = bytes.toBase64().replaceAll(/.{64}/g, "$&\n").trimEnd();
  return `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
}
