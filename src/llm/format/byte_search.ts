import { PairSearch } from "./pair_search.ts";

/** Where a text occurs in some bytes, which must not change meanwhile. */
export interface Occurrences {
  /** Index of the first one at or after `from`; -1 when there is none. */
  next(from: number): number;
}

/** Looks for one text in bytes; faster the rarer its first two characters stand side by side. */
export class ByteSearch {
  readonly #needle: Uint8Array;
  readonly #pair: readonly [number, number];

  /**
   * `text` is ASCII, at least two characters.
   *
   * @throws {RangeError}
   */
  constructor(text: string) {
    this.#needle = new TextEncoder().encode(text);
    const [first, second] = this.#needle;
    if (first === undefined || second === undefined) {
      throw new RangeError(
        `Cannot search: expected two characters or more, got "${text}"`,
      );
    }
    this.#pair = [first, second];
  }

  /** Index of the first occurrence; -1 when there is none. */
  find(bytes: Uint8Array): number {
    return this.findAll(bytes).next(0);
  }

  /** For all occurrences in the same bytes, one after the other. */
  findAll(bytes: Uint8Array): Occurrences {
    const needle = this.#needle;
    const pairs = new PairSearch(bytes, this.#pair);
    return {
      next(from) {
        let index = pairs.next(from);
        while (index >= 0 && !isAt(bytes, index, needle)) {
          index = pairs.next(index + 1);
        }
        return index;
      },
    };
  }
}

function isAt(bytes: Uint8Array, start: number, needle: Uint8Array): boolean {
  for (let i = 0; i < needle.length; i++) {
    if (bytes[start + i] !== needle[i]) return false;
  }
  return true;
}
