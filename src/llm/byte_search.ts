/** Looks for one text in bytes, after Horspool: most bytes are never looked at. */
export class ByteSearch {
  readonly #needle: Uint8Array;
  /** How far to go on when the last byte of the window is this one. */
  readonly #skips: Uint8Array;

  /** `text` is ASCII, of at most 255 characters. */
  constructor(text: string) {
    this.#needle = new TextEncoder().encode(text);
    this.#skips = new Uint8Array(256).fill(this.#needle.length);
    for (const [index, byte] of this.#needle.subarray(0, -1).entries()) {
      this.#skips[byte] = this.#needle.length - 1 - index;
    }
  }

  /** Index of the first occurrence at or after `from`; -1 when there is none. */
  find(bytes: Uint8Array, from: number): number {
    const needle = this.#needle;
    const skips = this.#skips;
    const last = needle.length - 1;
    const lastByte = needle[last];
    for (let i = from + last; i < bytes.length;) {
      const byte = bytes[i] ?? 0;
      if (byte === lastByte && endsAt(bytes, needle, i)) return i - last;
      i += skips[byte] ?? 1;
    }
    return -1;
  }
}

function endsAt(bytes: Uint8Array, needle: Uint8Array, end: number): boolean {
  const start = end - needle.length + 1;
  for (let i = 0; i < needle.length; i++) {
    if (bytes[start + i] !== needle[i]) return false;
  }
  return true;
}
