/**
 * Looks for one text in bytes, in strides of its length: an occurrence has exactly one byte on a stride, and as no character
 * occurs twice in the text, that byte tells where the occurrence must begin.
 */
export class ByteSearch {
  readonly #needle: Uint8Array;
  /** Position in the needle of each byte, plus one; zero for bytes that do not occur. */
  readonly #positions = new Uint8Array(256);

  /**
   * `text` is ASCII, 2 to 255 characters, all different.
   *
   * @throws {RangeError}
   */
  constructor(text: string) {
    this.#needle = new TextEncoder().encode(text);
    for (const [index, byte] of this.#needle.entries()) {
      if (this.#positions[byte] !== 0) {
        throw new RangeError(
          `Cannot search: expected different characters, got "${text}"`,
        );
      }
      this.#positions[byte] = index + 1;
    }
  }

  /** Index of the first occurrence at or after `from`; -1 when there is none. */
  find(bytes: Uint8Array, from: number): number {
    const needle = this.#needle;
    const positions = this.#positions;
    const stride = needle.length;
    const first = needle[0];
    const second = needle[1];
    for (let i = from + stride - 1; i < bytes.length; i += stride) {
      const position = positions[bytes[i] ?? 0] ?? 0;
      if (position === 0) continue;
      const start = i - position + 1;
      // Every fourth byte of a text is in the needle: most calls are worth saving.
      if (bytes[start] !== first || bytes[start + 1] !== second) continue;
      if (isAt(bytes, start, needle)) return start;
    }
    return -1;
  }
}

function isAt(bytes: Uint8Array, start: number, needle: Uint8Array): boolean {
  for (let i = 0; i < needle.length; i++) {
    if (bytes[start + i] !== needle[i]) return false;
  }
  return true;
}
