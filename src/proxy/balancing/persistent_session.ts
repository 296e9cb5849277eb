import { createCipheriv, createDecipheriv } from "node:crypto";
import { Buffer } from "node:buffer";
import type { HeaderList } from "../../http/header_list.ts";
import type { PersistentSessions } from "../../snapshot/snapshot.ts";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const PLAIN_BYTES = 12;
const TAG_BYTES = 16;
const TOTAL_BYTES = NONCE_BYTES + PLAIN_BYTES + TAG_BYTES;

/** A mark as clients send it: base64url of nonce, cipher text and tag. */
const sealed = /^[\w-]{54}$/;

/** The endpoint to which a session belongs. */
export interface SessionMark {
  /** Hash of the key of its backend. */
  readonly backend: number;
  /** `BalancedEndpoint.hash`. */
  readonly endpoint: number;
}

/** Returns the session of a request; `undefined` without one, and when it is over or was not made with the same key. */
export function readSession(
  { type, name, key, lifetimeMs = Infinity }: PersistentSessions,
  headers: HeaderList,
  now: number,
): SessionMark | undefined {
  const value = type === "Header"
    ? headers.get(name)
    : cookieOf(headers.getJoined("cookie") ?? "", name);
  if (value === undefined || !sealed.test(value)) return undefined;
  const plain = open(Buffer.from(value, "base64url"), key);
  if (plain === undefined) return undefined;
  const begunAt = plain.readUInt32BE(8) * 1000;
  if (now - begunAt >= lifetimeMs) return undefined;
  return { backend: plain.readUInt32BE(0), endpoint: plain.readUInt32BE(4) };
}

/** Begins a session with a response. @param isSecure The client came over TLS. */
export function beginSession(
  { type, name, key, lifetimeMs, isPermanent }: PersistentSessions,
  { backend, endpoint }: SessionMark,
  { headers, now, isSecure }: {
    readonly headers: HeaderList;
    readonly now: number;
    readonly isSecure: boolean;
  },
): void {
  const plain = Buffer.alloc(PLAIN_BYTES);
  plain.writeUInt32BE(backend, 0);
  plain.writeUInt32BE(endpoint, 4);
  plain.writeUInt32BE(Math.floor(now / 1000), 8);
  const value = seal(plain, key).toString("base64url");
  if (type === "Header") {
    headers.set(name, value);
    return;
  }
  const seconds = Math.ceil((lifetimeMs ?? 0) / 1000);
  const lifetime = isPermanent ? `; Max-Age=${seconds}` : "";
  const secure = isSecure ? "; Secure" : "";
  headers.append(
    "set-cookie",
    `${name}=${value}; Path=/${lifetime}; HttpOnly; SameSite=Lax${secure}`,
  );
}

/** Returns the value of a cookie; of several with the name, the first. */
function cookieOf(cookies: string, name: string): string | undefined {
  for (const pair of cookies.split(";")) {
    const at = pair.indexOf("=");
    if (at > 0 && pair.slice(0, at).trim() === name) {
      return pair.slice(at + 1).trim();
    }
  }
  return undefined;
}

function seal(plain: Buffer, key: Uint8Array): Buffer {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const cipher = createCipheriv(CIPHER, key, nonce);
  const text = cipher.update(plain);
  cipher.final();
  return Buffer.concat([nonce, text, cipher.getAuthTag()]);
}

function open(sealed: Buffer, key: Uint8Array): Buffer | undefined {
  if (sealed.length !== TOTAL_BYTES) return undefined;
  const decipher = createDecipheriv(
    CIPHER,
    key,
    sealed.subarray(0, NONCE_BYTES),
  );
  decipher.setAuthTag(sealed.subarray(TOTAL_BYTES - TAG_BYTES));
  const plain = decipher.update(
    sealed.subarray(NONCE_BYTES, TOTAL_BYTES - TAG_BYTES),
  );
  try {
    decipher.final();
    return plain;
  } catch {
    return undefined;
  }
}
