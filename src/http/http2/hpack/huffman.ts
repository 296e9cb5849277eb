/** Bits per symbol, which determine the canonical code (RFC 7541 appendix B). */
const CODE_LENGTHS = `
  13 23 28 28 28 28 28 28 28 24 30 28 28 30 28 28 28 28 28 28 28 28 30 28 28 28 28 28 28 28 28 28
   6 10 10 12 13  6  8 11 10 10  8 11  8  6  6  6  5  5  5  6  6  6  6  6  6  6  7  8 15  6 12 10
  13  6  7  7  7  7  7  7  7  7  7  7  7  7  7  7  7  7  7  7  7  7  7  7  8  7  8 13 19 13 14  6
  15  5  6  5  6  5  6  6  6  5  7  7  6  6  6  5  6  7  6  5  5  6  7  7  7  7  7 15 11 14 13 28
  20 22 20 20 22 22 22 23 22 23 23 23 23 23 24 23 24 24 22 23 24 23 23 23 23 21 22 23 22 23 23 24
  22 21 20 22 22 23 23 21 23 22 22 24 21 22 23 23 21 21 22 21 23 22 23 23 20 22 22 22 23 22 22 23
  26 26 20 19 22 23 22 25 26 26 26 27 27 26 24 25 19 21 26 27 27 26 27 24 21 21 26 26 28 27 27 27
  20 24 20 21 22 21 21 23 22 22 25 25 24 24 26 23 26 27 26 26 27 27 27 27 27 28 27 27 27 27 27 26
`.trim().split(/\s+/).map(Number);
const LONGEST_CODE = 30;
/** Marks an entry that leads to another table. */
const LINK = 0x1_0000;

/**
 * Consecutive tables of 256 entries, looked up with eight bits of the code.
 *
 * An entry is `bits << 8 | symbol`, where `bits` of the eight belong to the code; `LINK | table` for a longer code; 0 for an invalid
 * one. Created for the first string: many gateways never use HTTP/2.
 */
let tables: Uint32Array | undefined;

/**
 * Decodes the Huffman code of `source[start, end)` into `target`, which needs room for 8/5 of the bytes.
 *
 * Returns the number of bytes; -1 if the code, or its padding, is invalid (RFC 7541 section 5.2).
 */
export function decodeHuffman(
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
): number {
  const entries = tables ??= createTables();
  let length = 0;
  let table = 0;
  // Unconsumed bits, and bits since the end of the last symbol.
  let bits = 0;
  let count = 0;
  let open = 0;
  for (let i = start; i < end; i++) {
    bits = ((bits << 8) | (source[i] ?? 0)) & 0xffff;
    count += 8;
    open += 8;
    while (count >= 8) {
      const entry = entries[table + ((bits >>> (count - 8)) & 0xff)] ?? 0;
      if (entry >= LINK) {
        table = (entry - LINK) << 8;
        count -= 8;
      } else if (entry === 0) {
        return -1;
      } else {
        target[length++] = entry & 0xff;
        count -= entry >>> 8;
        open = count;
        table = 0;
      }
    }
  }
  while (count > 0) {
    const entry = entries[table + ((bits << (8 - count)) & 0xff)] ?? 0;
    if (entry === 0 || entry >= LINK || entry >>> 8 > count) break;
    target[length++] = entry & 0xff;
    count -= entry >>> 8;
    open = count;
    table = 0;
  }
  const padding = (1 << count) - 1;
  return open < 8 && (bits & padding) === padding ? length : -1;
}

function createTables(): Uint32Array {
  const made = [new Uint32Array(256)];
  let code = 0;
  for (let length = 1; length <= LONGEST_CODE; length++) {
    for (let symbol = 0; symbol < CODE_LENGTHS.length; symbol++) {
      if (CODE_LENGTHS[symbol] === length) add(made, symbol, code++, length);
    }
    code *= 2;
  }
  const all = new Uint32Array(made.length * 256);
  made.forEach((table, index) => all.set(table, index * 256));
  return all;
}

function add(
  made: Uint32Array[],
  symbol: number,
  code: number,
  length: number,
): void {
  let [table] = made;
  let rest = length;
  for (; rest > 8; rest -= 8) {
    const byte = (code >>> (rest - 8)) & 0xff;
    table = follow(made, table, byte);
  }
  const first = (code << (8 - rest)) & 0xff;
  table?.fill((rest << 8) | symbol, first, first + (1 << (8 - rest)));
}

/** Returns the table that `byte` links to from `table`, and creates it if necessary. */
function follow(
  made: Uint32Array[],
  table: Uint32Array | undefined,
  byte: number,
): Uint32Array | undefined {
  const link = table?.[byte] ?? 0;
  if (link !== 0) return made[link - LINK];
  table?.fill(LINK + made.length, byte, byte + 1);
  const next = new Uint32Array(256);
  made.push(next);
  return next;
}
