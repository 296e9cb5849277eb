/**
 * Encodes and decodes the messages of the KV Connect protocol (`com.deno.kv.datapath`) to read and replace single keys.
 *
 * @module
 */

/** Comparisons and writes of one atomic operation. */
export interface AtomicWrite {
  readonly checks: readonly {
    readonly key: Uint8Array;
    /** Empty if the key must not exist. */
    readonly versionstamp: Uint8Array;
  }[];
  /** The values to set. */
  readonly sets: readonly {
    readonly key: Uint8Array;
    readonly data: Uint8Array;
    readonly encoding: number;
  }[];
}

/** A stored value. */
export interface StoredEntry {
  readonly key: Uint8Array;
  readonly data: Uint8Array;
  readonly encoding: number;
  readonly versionstamp: Uint8Array;
}

const SUCCESS = 1;
const CHECK_FAILURE = 2;
const SET = 1;

/** Returns the keys of a `SnapshotRead`, one for each range. */
export function decodeSnapshotRead(bytes: Uint8Array): Uint8Array[] {
  return messages(decode(bytes), 1).map((range) => bytesOf(range, 1));
}

export function encodeSnapshotReadOutput(
  entries: readonly (StoredEntry | undefined)[],
): Uint8Array<ArrayBuffer> {
  const ranges = entries.map((entry): Field => [
    1,
    entry === undefined ? new Uint8Array() : encode([[
      1,
      encode([
        [1, entry.key],
        [2, entry.data],
        [3, entry.encoding],
        [4, entry.versionstamp],
      ]),
    ]]),
  ]);
  return encode([...ranges, [4, 1], [8, SUCCESS]]);
}

export function decodeAtomicWrite(bytes: Uint8Array): AtomicWrite {
  const fields = decode(bytes);
  return {
    checks: messages(fields, 1).map((check) => ({
      key: bytesOf(check, 1),
      versionstamp: bytesOf(check, 2),
    })),
    sets: messages(fields, 2).map((mutation) => {
      if (numberOf(mutation, 3) !== SET) {
        throw new Error("Expected a set mutation");
      }
      const value = decode(bytesOf(mutation, 2));
      return {
        key: bytesOf(mutation, 1),
        data: bytesOf(value, 1),
        encoding: numberOf(value, 2),
      };
    }),
  };
}

/** Encodes the `versionstamp` of the write; `undefined` if a check failed. */
export function encodeAtomicWriteOutput(
  versionstamp: Uint8Array | undefined,
): Uint8Array<ArrayBuffer> {
  return versionstamp === undefined
    ? encode([[1, CHECK_FAILURE], [4, 0]])
    : encode([[1, SUCCESS], [2, versionstamp]]);
}

type Field = readonly [number: number, value: number | Uint8Array];

function encode(fields: readonly Field[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(
    fields.flatMap(([number, value]) =>
      typeof value === "number"
        ? [...varint(number << 3), ...varint(value)]
        : [...varint(number << 3 | 2), ...varint(value.length), ...value]
    ),
  );
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [value % 128 + 128, ...varint(value >>> 7)];
}

function decode(bytes: Uint8Array): Field[] {
  const fields: Field[] = [];
  let position = 0;
  function readVarint(): number {
    let value = 0;
    for (let factor = 1;; factor *= 128) {
      const byte = bytes[position++] ?? 0;
      value += byte % 128 * factor;
      if (byte < 128) return value;
    }
  }
  while (position < bytes.length) {
    const tag = readVarint();
    const value = readVarint();
    const isBytes = tag % 8 === 2;
    fields.push([
      tag >>> 3,
      isBytes ? bytes.slice(position, position + value) : value,
    ]);
    if (isBytes) position += value;
  }
  return fields;
}

function messages(fields: readonly Field[], number: number): Field[][] {
  return fields.filter((field) => field[0] === number)
    .map(([, value]) => decode(value as Uint8Array));
}

function bytesOf(fields: readonly Field[], number: number): Uint8Array {
  const value = fields.find((field) => field[0] === number)?.[1];
  return value instanceof Uint8Array ? value : new Uint8Array();
}

function numberOf(fields: readonly Field[], number: number): number {
  const value = fields.find((field) => field[0] === number)?.[1];
  return typeof value === "number" ? value : 0;
}
