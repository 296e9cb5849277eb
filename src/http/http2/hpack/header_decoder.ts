import { Buffer } from "node:buffer";
import { tokenBytes, valueBytes } from "../../field_syntax.ts";
import { DynamicTable, staticTable, type TableField } from "./header_table.ts";
import { Http2ConnectionError } from "../frames/http2_error.ts";
import { ERROR_CODES, FIELD_OVERHEAD } from "../frames/http2_protocol.ts";
import { decodeHuffman } from "./huffman.ts";

/** Size of the dynamic table: the default, which the settings of the gateway do not change. */
const TABLE_BYTES = 4096;
const COLON = 0x3a;
const SPACE = 0x20;
const TAB = 0x09;
const SCRATCH_BYTES = 256;
/** Matches the names that `isNameIn` accepts. */
const namePattern = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;

/** Limits of a header block. */
export interface BlockLimits {
  /** Size of the list, counted as in RFC 9113 section 6.5.2. */
  readonly maxBytes: number;
  readonly maxFields: number;
}

/** The fields of a header block. */
export interface FieldBlock {
  /** Name, value, name, value…, including pseudo-header fields; truncated when the block is too large. */
  readonly fields: string[];
  /** True if all names and values are valid (RFC 9113 section 8.2.1). */
  readonly isValid: boolean;
  /** True if the block exceeds the limits. */
  readonly isTooLarge: boolean;
}

/**
 * Decodes the header blocks of one connection, in order (RFC 7541).
 *
 * Decodes each block to its end even beyond the limits, because the next one depends on the dynamic table, but then keeps no fields.
 */
export class HeaderDecoder {
  readonly #table = new DynamicTable(TABLE_BYTES);
  #scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  #bytes: Uint8Array = this.#scratch;
  #position = 0;
  #end = 0;

  /** @throws {Http2ConnectionError} `COMPRESSION_ERROR`, which ends the connection. */
  decode(
    bytes: Uint8Array,
    start: number,
    end: number,
    limits: BlockLimits,
  ): FieldBlock {
    this.#bytes = bytes;
    this.#position = start;
    this.#end = end;
    this.#resizeTable();
    const fields: string[] = [];
    let isValid = true;
    let isTooLarge = false;
    let size = 0;
    while (this.#position < end) {
      const field = this.#readField(bytes[this.#position] ?? 0);
      size += field.name.length + field.value.length + FIELD_OVERHEAD;
      if (!field.isValid) isValid = false;
      if (
        size > limits.maxBytes || fields.length >= 2 * limits.maxFields
      ) isTooLarge = true;
      else fields.push(field.name, field.value);
    }
    this.#release();
    return { fields, isValid, isTooLarge };
  }

  #readField(first: number): TableField {
    if (first >= 0x80) return this.#fieldAt(this.#readInteger(0x7f));
    if (first >= 0x40) {
      const field = this.#readLiteral(0x3f);
      this.#table.add(field);
      return field;
    }
    if (first >= 0x20) throw broken("a table size inside a header block");
    return this.#readLiteral(0x0f);
  }

  #resizeTable(): void {
    while (this.#position < this.#end) {
      const first = this.#bytes[this.#position] ?? 0;
      if (first < 0x20 || first >= 0x40) return;
      const size = this.#readInteger(0x1f);
      if (size > TABLE_BYTES) throw broken("a table size beyond the limit");
      this.#table.resize(size);
    }
  }

  #fieldAt(index: number): TableField {
    const field = index <= staticTable.length
      ? staticTable[index - 1]
      : this.#table.get(index - staticTable.length - 1);
    if (field === undefined) throw broken("an index beyond the tables");
    return field;
  }

  #readLiteral(mask: number): TableField {
    const index = this.#readInteger(mask);
    let name: string;
    let isValid: boolean;
    if (index > 0) {
      const field = this.#fieldAt(index);
      ({ name } = field);
      // A field with a malformed value may still have a valid name.
      isValid = field.isValid || namePattern.test(name);
    } else {
      const length = this.#readText();
      isValid = isNameIn(this.#scratch, length);
      name = this.#scratch.toString("latin1", 0, length);
    }
    const length = this.#readText();
    if (!isValueIn(this.#scratch, length)) isValid = false;
    return {
      name,
      value: this.#scratch.toString("latin1", 0, length),
      isValid,
    };
  }

  /** Decodes a string literal into the scratch buffer, and returns its length. */
  #readText(): number {
    const isHuffman = ((this.#bytes[this.#position] ?? 0) & 0x80) !== 0;
    const length = this.#readInteger(0x7f);
    const start = this.#position;
    const end = this.#position += length;
    if (end > this.#end) throw broken("a string that is cut short");
    this.#reserve(isHuffman ? 2 * length : length);
    const scratch = this.#scratch;
    if (!isHuffman) {
      for (let i = 0; i < length; i++) scratch[i] = this.#bytes[start + i] ?? 0;
      return length;
    }
    const decoded = decodeHuffman(this.#bytes, start, end, scratch);
    if (decoded < 0) throw broken("an invalid Huffman code");
    return decoded;
  }

  /** Reads an integer (RFC 7541 section 5.1); `mask` covers the bits of the first byte. */
  #readInteger(mask: number): number {
    let value = this.#nextByte() & mask;
    if (value < mask) return value;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#nextByte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw broken("an integer that is too large");
  }

  #nextByte(): number {
    if (this.#position >= this.#end) throw broken("a field that is cut short");
    return this.#bytes[this.#position++] ?? 0;
  }

  #reserve(count: number): void {
    if (count <= this.#scratch.length) return;
    this.#scratch = Buffer.allocUnsafeSlow(count);
  }

  /** Releases the block, and a large scratch buffer. */
  #release(): void {
    if (this.#scratch.length > 16 * SCRATCH_BYTES) {
      this.#scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
    }
    this.#bytes = this.#scratch;
  }
}

/** Returns whether a name is valid: lower case, with a colon first for pseudo-header fields. */
function isNameIn(bytes: Uint8Array, length: number): boolean {
  const start = bytes[0] === COLON ? 1 : 0;
  if (start === length) return false;
  for (let i = start; i < length; i++) {
    const byte = bytes[i] ?? 0;
    if (tokenBytes[byte] !== 1 || (byte >= 0x41 && byte <= 0x5a)) return false;
  }
  return true;
}

/** Returns whether a value is valid: without control characters, and without white space at either end. */
function isValueIn(bytes: Uint8Array, length: number): boolean {
  if (length === 0) return true;
  if (isBlank(bytes[0]) || isBlank(bytes[length - 1])) return false;
  for (let i = 0; i < length; i++) {
    if (valueBytes[bytes[i] ?? 0] !== 1) return false;
  }
  return true;
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}

function broken(problem: string): Http2ConnectionError {
  return new Http2ConnectionError(
    ERROR_CODES.compressionError,
    `Cannot read a header block: it has ${problem}`,
  );
}
