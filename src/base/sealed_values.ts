import { Buffer } from "node:buffer";
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  timingSafeEqual,
} from "node:crypto";
import { isJsonObject, type JsonObject, parseJson } from "./json.ts";

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAX_SEALED_LENGTH = 16 * 1024;

/**
 * Encrypts and authenticates the state that clients and browsers keep for the gateway (AES-256-GCM, a random nonce per value).
 * Only replicas with the same secret can read or change it. A value that is sealed for one purpose cannot be opened for another.
 */
export class Seal<Purpose extends string> {
  readonly #keys: readonly Uint8Array[];
  readonly #maxLength: number;

  /**
   * @param label Separates the keys of different parts of the gateway that use the same secret.
   * @param secrets At least one, with at least 32 characters each. The first one seals, all of them open: logins survive the
   * rotation of a secret.
   * @param maxLength Longer values are rejected unread: the gateway never issues them.
   */
  constructor(
    label: string,
    secrets: readonly [string, ...string[]],
    maxLength = MAX_SEALED_LENGTH,
  ) {
    this.#maxLength = maxLength;
    this.#keys = secrets.map((secret) =>
      createHash("sha256").update(`${label}\0${secret}`).digest()
    );
  }

  /** Seals a JSON object as base64url text, about 1.4 times as long as its JSON. */
  seal(purpose: Purpose, value: JsonObject): string {
    const [key] = this.#keys;
    if (key === undefined) throw new TypeError("Cannot seal: no secret");
    const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const cipher = createCipheriv(ALGORITHM, key, nonce);
    cipher.setAAD(new TextEncoder().encode(purpose));
    const text = cipher.update(JSON.stringify(value), "utf8");
    const rest = cipher.final();
    return Buffer.concat([nonce, text, rest, cipher.getAuthTag()])
      .toString("base64url");
  }

  /** Signs a text that is no secret (HMAC-SHA-256); the same text always has the same signature, in base64url. */
  sign(purpose: Purpose, text: string): string {
    const [key] = this.#keys;
    if (key === undefined) throw new TypeError("Cannot sign: no secret");
    return signatureWith(key, purpose, text).toString("base64url");
  }

  /** Reports whether `sign` made the signature, for the same purpose. */
  isSigned(purpose: Purpose, text: string, signature: string): boolean {
    const bytes = Buffer.from(signature, "base64url");
    return this.#keys.some((key) => {
      const expected = signatureWith(key, purpose, text);
      return bytes.length === expected.length &&
        timingSafeEqual(bytes, expected);
    });
  }

  /** Opens a value that `seal` made for the same purpose; `undefined` for anything else. */
  open(purpose: Purpose, sealed: string): JsonObject | undefined {
    if (sealed.length > this.#maxLength || !/^[\w-]+$/.test(sealed)) {
      return undefined;
    }
    const bytes = Buffer.from(sealed, "base64url");
    if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined;
    // The decoder ignores bits and characters beyond the last byte: one value would have many spellings.
    if (bytes.toString("base64url") !== sealed) return undefined;
    for (const key of this.#keys) {
      const value = openWith(key, purpose, bytes);
      if (value !== undefined) return value;
    }
    return undefined;
  }
}

function signatureWith(key: Uint8Array, purpose: string, text: string): Buffer {
  return createHmac("sha256", key).update(`${purpose}\0${text}`).digest();
}

function openWith(
  key: Uint8Array,
  purpose: string,
  bytes: Buffer,
): JsonObject | undefined {
  const end = bytes.length - TAG_BYTES;
  const decipher = createDecipheriv(
    ALGORITHM,
    key,
    bytes.subarray(0, NONCE_BYTES),
  );
  decipher.setAAD(new TextEncoder().encode(purpose));
  decipher.setAuthTag(bytes.subarray(end));
  try {
    const text =
      decipher.update(bytes.subarray(NONCE_BYTES, end), undefined, "utf8") +
      decipher.final("utf8");
    const value = parseJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    // The value is forged, truncated or foreign; callers do not learn which.
    return undefined;
  }
}
