import { Buffer } from "node:buffer";
import type { HeaderList } from "../../header_list.ts";
import { staticTable } from "./header_table.ts";

const INITIAL_BYTES = 1024;
/** Limit of cached names: enough for the fields of usual services; clients can invent any number of names. */
const MAX_CACHED_NAMES = 1024;
/** A dynamic table of size 0 (RFC 7541 section 6.3). */
const NO_TABLE = 0x20;
const INDEXED = 0x80;
const NEVER_INDEXED = 0x10;
/** Up to this length, a loop is faster than a call into the engine. */
const SHORT_TEXT = 48;

/** Connection-specific fields, which HTTP/2 forbids (RFC 9113 section 8.2.2). */
const connectionFields: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

/** Returns whether HTTP/2 forbids a field; `name` in lower case. */
export function isConnectionField(name: string): boolean {
  return connectionFields.has(name);
}

/** Fields whose values intermediaries must not index (RFC 7541 section 7.1.3). */
const secretFields: ReadonlySet<string> = new Set([
  "authorization",
  "cookie",
  "set-cookie",
  "proxy-authorization",
]);

const staticIndexes: ReadonlyMap<string, number> = new Map(
  staticTable.map(({ name }, i): [string, number] => [name, i + 1]).reverse(),
);

/** Indices of fields that the static table has with their value, such as `":method GET"`. */
const indexedFields: ReadonlyMap<string, number> = new Map(
  staticTable.flatMap(({ name, value }, i): [string, number][] =>
    value === "" ? [] : [[`${name} ${value}`, i + 1]]
  ),
);

/** Encoded bytes before the value, by name as spelled; empty for fields that HTTP/2 forbids. */
const prefixes = new Map<string, Uint8Array>();

/**
 * Encodes header blocks of one connection (RFC 7541).
 *
 * Uses only the static table: connections carry requests of different clients, and one of them could measure a shared table to learn
 * secrets of another. So there is no state, and the bytes before a value are the same for all connections.
 */
export class HeaderEncoder {
  /** Buffer of the block, which is `bytes[0, length)`. */
  bytes: Buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  length = 0;
  #isFirst = true;

  /** Begins a block. */
  begin(): void {
    this.length = 0;
    if (!this.#isFirst) return;
    this.#isFirst = false;
    this.bytes[this.length++] = NO_TABLE;
  }

  /** Adds `:status`, or another pseudo-header field. */
  pseudo(name: string, value: string): void {
    const index = indexedFields.get(`${name} ${value}`);
    if (index === undefined) return this.#put(name, value);
    this.#reserve(1);
    this.bytes[this.length++] = INDEXED | index;
  }

  /** Adds a field, with its name in lower case, unless HTTP/2 forbids it. The caller has validated name and value. */
  field(name: string, value: string): void {
    this.#put(name, value);
  }

  fields(headers: HeaderList): void {
    headers.forEach(this.#putField);
  }

  readonly #putField = (name: string, value: string): void =>
    this.#put(name, value);

  #put(name: string, value: string): void {
    const prefix = prefixes.get(name) ?? prefixOf(name);
    if (prefix.length === 0) return;
    this.#reserve(prefix.length + value.length + 6);
    const { bytes } = this;
    let at = this.length;
    for (let i = 0; i < prefix.length; i++) bytes[at++] = prefix[i] ?? 0;
    at = putInteger(bytes, at, 0, 0x7f, value.length);
    this.length = putText(bytes, at, value);
  }

  #reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.length + count));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }
}

function prefixOf(spelled: string): Uint8Array {
  const prefix = createPrefix(spelled.toLowerCase());
  if (prefixes.size < MAX_CACHED_NAMES) prefixes.set(spelled, prefix);
  return prefix;
}

function createPrefix(name: string): Uint8Array {
  if (connectionFields.has(name)) return new Uint8Array();
  const kind = secretFields.has(name) ? NEVER_INDEXED : 0;
  const index = staticIndexes.get(name) ?? 0;
  const bytes = Buffer.allocUnsafeSlow(name.length + 8);
  let end = putInteger(bytes, 0, kind, 0x0f, index);
  if (index === 0) {
    end = putInteger(bytes, end, 0, 0x7f, name.length);
    end = putText(bytes, end, name);
  }
  return new Uint8Array(bytes.subarray(0, end));
}

/** Writes an integer (RFC 7541 section 5.1), and returns the position after it. */
function putInteger(
  bytes: Buffer,
  at: number,
  flags: number,
  mask: number,
  value: number,
): number {
  if (value < mask) {
    bytes[at] = flags | value;
    return at + 1;
  }
  bytes[at++] = flags | mask;
  let rest = value - mask;
  for (; rest >= 0x80; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80;
  bytes[at] = rest;
  return at + 1;
}

/** Writes a string as Latin-1 without Huffman coding, which takes longer than sending the difference. */
function putText(bytes: Buffer, at: number, text: string): number {
  const { length } = text;
  if (length > SHORT_TEXT) return at + bytes.write(text, at, "latin1");
  for (let i = 0; i < length; i++) bytes[at + i] = text.charCodeAt(i);
  return at + length;
}
