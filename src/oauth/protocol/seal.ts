import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHash } from "node:crypto";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";

/** Purpose of a sealed value, which cannot be opened for another one. */
export type SealPurpose = "client" | "login" | "consent" | "code" | "refresh";

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Longer values are rejected unread: the gateway never issues them. */
const MAX_SEALED_LENGTH = 16 * 1024;

/**
 * Encrypts and authenticates the state that clients and browsers keep for the gateway (AES-256-GCM, a random nonce per value).
 * Only replicas with the same secret can read or change it.
 */
export class Seal {
  readonly #keys: readonly Uint8Array[];

  /**
   * @param secrets At least one, with at least 32 characters each. The first one seals, all of them open: logins survive the
   * rotation of a secret.
   */
  constructor(secrets: readonly [string, ...string[]]) {
    this.#keys = secrets.map((secret) =>
      createHash("sha256").update(`gateway oauth seal\0${secret}`).digest()
    );
  }

  /** Seals a JSON object as base64url text, about 1.4 times as long as its JSON. */
  seal(purpose: SealPurpose, value: JsonObject): string {
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

  /** Opens a value that `seal` made for the same purpose; `undefined` for anything else. */
  open(purpose: SealPurpose, sealed: string): JsonObject | undefined {
    if (sealed.length > MAX_SEALED_LENGTH || !/^[\w-]+$/.test(sealed)) {
      return undefined;
    }
    const bytes = Buffer.from(sealed, "base64url");
    if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined;
    for (const key of this.#keys) {
      const value = openWith(key, purpose, bytes);
      if (value !== undefined) return value;
    }
    return undefined;
  }
}

function openWith(
  key: Uint8Array,
  purpose: SealPurpose,
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

/** Returns the SHA-256 of a string as base64url, such as the S256 challenge of a PKCE verifier (RFC 7636 section 4.2). */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** Returns 256 random bits as base64url: 43 characters. */
export function randomText(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32)))
    .toString("base64url");
}
