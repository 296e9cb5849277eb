/** Hash of a key, 128 bits. */
export interface KeyHash {
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly d: number;
}

/** Length of a seed in 32-bit words. */
export const SEED_WORDS = 4;

const BYTES_PER_UNIT = 2;
const UNITS_PER_BLOCK = 4;

/**
 * Hashes the UTF-16 code units of strings with SipHash-2-4 and 128 bits of output (Aumasson and Bernstein, 2012).
 *
 * Clients choose keys: without the seed nobody can choose two with the same hash, or with the same place in a table.
 */
export class KeyHasher {
  readonly #seed: Int32Array;
  /** The four 64-bit words of the state, each as low and high half. */
  readonly #state = new Int32Array(8);

  /** @param seed 128 random bits. */
  constructor(seed: Int32Array) {
    if (seed.length !== SEED_WORDS) throw new RangeError("Expected 128 bits");
    this.#seed = seed;
  }

  hash(text: string): KeyHash {
    this.#start();
    const whole = text.length - text.length % UNITS_PER_BLOCK;
    for (let at = 0; at < whole; at += UNITS_PER_BLOCK) {
      this.#add(
        text.charCodeAt(at) | text.charCodeAt(at + 1) << 16,
        text.charCodeAt(at + 2) | text.charCodeAt(at + 3) << 16,
      );
    }
    this.#addLast(text, whole);
    return this.#finish();
  }

  #start(): void {
    const state = this.#state;
    const k0 = at(this.#seed, 0);
    const k1 = at(this.#seed, 1);
    const k2 = at(this.#seed, 2);
    const k3 = at(this.#seed, 3);
    state[0] = 0x70736575 ^ k0;
    state[1] = 0x736f6d65 ^ k1;
    state[2] = 0x6e646f6d ^ k2 ^ 0xee;
    state[3] = 0x646f7261 ^ k3;
    state[4] = 0x6e657261 ^ k0;
    state[5] = 0x6c796765 ^ k1;
    state[6] = 0x79746573 ^ k2;
    state[7] = 0x74656462 ^ k3;
  }

  #add(low: number, high: number): void {
    const state = this.#state;
    state[6] = at(state, 6) ^ low;
    state[7] = at(state, 7) ^ high;
    mix(state, 2);
    state[0] = at(state, 0) ^ low;
    state[1] = at(state, 1) ^ high;
  }

  /** Adds the rest of a string, with its length in the last byte. */
  #addLast(text: string, from: number): void {
    const rest = text.length - from;
    const first = rest > 0 ? text.charCodeAt(from) : 0;
    const second = rest > 1 ? text.charCodeAt(from + 1) : 0;
    const third = rest > 2 ? text.charCodeAt(from + 2) : 0;
    const length = (text.length * BYTES_PER_UNIT) & 0xff;
    this.#add(first | second << 16, third | length << 24);
  }

  #finish(): KeyHash {
    const state = this.#state;
    state[4] = at(state, 4) ^ 0xee;
    mix(state, 4);
    const a = fold(state, 0);
    const b = fold(state, 1);
    state[2] = at(state, 2) ^ 0xdd;
    mix(state, 4);
    return { a, b, c: fold(state, 0), d: fold(state, 1) };
  }
}

function at(state: Int32Array, index: number): number {
  return state[index] ?? 0;
}

function fold(state: Int32Array, half: number): number {
  return at(state, half) ^ at(state, half + 2) ^ at(state, half + 4) ^
    at(state, half + 6);
}

/** Runs SipRound: `xl` and `xh` are the halves of word `x`. */
function mix(state: Int32Array, rounds: number): void {
  let al = at(state, 0);
  let ah = at(state, 1);
  let bl = at(state, 2);
  let bh = at(state, 3);
  let cl = at(state, 4);
  let ch = at(state, 5);
  let dl = at(state, 6);
  let dh = at(state, 7);
  for (let round = 0; round < rounds; round++) {
    let sum = (al >>> 0) + (bl >>> 0);
    ah = (ah + bh + (sum > 0xffffffff ? 1 : 0)) | 0;
    al = sum | 0;
    let low = bl << 13 | bh >>> 19;
    bh = (bh << 13 | bl >>> 19) ^ ah;
    bl = low ^ al;
    low = al;
    al = ah;
    ah = low;

    sum = (cl >>> 0) + (dl >>> 0);
    ch = (ch + dh + (sum > 0xffffffff ? 1 : 0)) | 0;
    cl = sum | 0;
    low = dl << 16 | dh >>> 16;
    dh = (dh << 16 | dl >>> 16) ^ ch;
    dl = low ^ cl;

    sum = (al >>> 0) + (dl >>> 0);
    ah = (ah + dh + (sum > 0xffffffff ? 1 : 0)) | 0;
    al = sum | 0;
    low = dl << 21 | dh >>> 11;
    dh = (dh << 21 | dl >>> 11) ^ ah;
    dl = low ^ al;

    sum = (cl >>> 0) + (bl >>> 0);
    ch = (ch + bh + (sum > 0xffffffff ? 1 : 0)) | 0;
    cl = sum | 0;
    low = bl << 17 | bh >>> 15;
    bh = (bh << 17 | bl >>> 15) ^ ch;
    bl = low ^ cl;
    low = cl;
    cl = ch;
    ch = low;
  }
  state[0] = al, state[1] = ah, state[2] = bl, state[3] = bh;
  state[4] = cl, state[5] = ch, state[6] = dl, state[7] = dh;
}
