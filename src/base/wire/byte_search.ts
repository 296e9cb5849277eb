import { latin1 } from "../bytes.ts";

/** Places of one string in some bytes, which must not change meanwhile. */
export interface Occurrences {
  /** Returns the index of the first occurrence at or after `from`; -1 when there is none. */
  next(from: number): number;
}

/**
 * Finds one ASCII string in bytes.
 *
 * Decodes the bytes as Latin-1, which is a copy, and leaves the search to V8. V8 looks for the first character many bytes at a time, so
 * the search starts from the second: the quote of `"usage` is far more frequent than its `u`.
 */
export class ByteSearch {
  readonly #first: string;
  readonly #rest: string;

  /** @throws {RangeError} When `text` is shorter than two characters. */
  constructor(text: string) {
    if (text.length < 2) {
      throw new RangeError(
        `Cannot search: expected two characters or more, got "${text}"`,
      );
    }
    this.#first = text.charAt(0);
    this.#rest = text.slice(1);
  }

  /** Returns the index of the first occurrence; -1 when there is none. */
  find(bytes: Uint8Array): number {
    return this.findAll(bytes).next(0);
  }

  /** Prepares `bytes` for finding all occurrences one after the other. */
  findAll(bytes: Uint8Array): Occurrences {
    const text = latin1(bytes);
    return {
      next: (from) => {
        let index = text.indexOf(this.#rest, from + 1);
        while (index >= 0 && text[index - 1] !== this.#first) {
          index = text.indexOf(this.#rest, index + 1);
        }
        return Math.max(-1, index - 1);
      },
    };
  }
}
