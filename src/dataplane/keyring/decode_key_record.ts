import { createHash } from "node:crypto";
import type {
  KeyObject,
  KeyObjectKind,
} from "../../policy/keys/key_objects.ts";
import type { RecordTable } from "./record_table.ts";

/** Record of a secret. */
export interface SecretRecord {
  /** Digest of the key, as `hashOf` returns it: a look-up need not compute it. */
  readonly key: string;
  readonly expiresAt?: number;
}

/** Returns the SHA-256 digest of an object in base64url, under which a table of the process has it; it is no hash of a secret. */
export function hashOf(kind: KeyObjectKind, id: string): string {
  return createHash("sha256").update(`gateway ${kind} ${id}`)
    .digest("base64url");
}

/** Converts a digest of `hashOf` to the words of a table. */
export function digestOf(hash: string): Int32Array {
  return wordsOf(Uint8Array.fromBase64(hash, { alphabet: "base64url" }));
}

/** Converts a SHA-256 digest to the words of a table. */
function wordsOf({ buffer }: Uint8Array): Int32Array {
  return new Int32Array(buffer);
}

/** Converts a SHA-256 digest in hexadecimal to the words of a table. */
export function wordsOfHex(digest: string): Int32Array {
  return wordsOf(Uint8Array.fromHex(digest));
}

/** Converts the hash of a secret to the words of a table; `undefined` for one that no gateway wrote. */
export function wordsOfHash(hash: string): Int32Array | undefined {
  try {
    const bytes = Uint8Array.fromBase64(hash, { alphabet: "base64url" });
    return bytes.length === 32 ? wordsOf(bytes) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the object at a place of a table; `undefined` if it is 0, or has a secret. */
export function objectAt(
  table: RecordTable,
  place: number,
): KeyObject | undefined {
  const record = place === 0 ? undefined : decodeRecord(table.textAt(place));
  return record !== undefined && "kind" in record ? record : undefined;
}

/** Returns the object of a digest; `undefined` if there is none. */
export function findObject(
  table: RecordTable,
  kind: KeyObjectKind,
  id: string,
): KeyObject | undefined {
  return objectAt(table, table.find(digestOf(hashOf(kind, id))));
}

/** Returns the record of a secret at a place of a table; `undefined` if it is 0, or has an object. */
export function secretAt(
  table: RecordTable,
  place: number,
): SecretRecord | undefined {
  const record = place === 0 ? undefined : decodeRecord(table.textAt(place));
  return record !== undefined && "key" in record ? record : undefined;
}

/** Reads a record of the process itself, which has checked what it read from the store. */
function decodeRecord(text: string): KeyObject | SecretRecord {
  return JSON.parse(text) as KeyObject | SecretRecord;
}
