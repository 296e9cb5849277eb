import { Buffer } from "node:buffer";

/** Memory of a table, which threads share: one of them writes. */
export interface RecordMemory {
  readonly slots: SharedArrayBuffer;
  readonly records: SharedArrayBuffer;
}

/** Words before the slots. */
const HEADER_WORDS = 4;
const GENERATION = 0;
const STATE = 1;
const REPLACED = 2;

const EMPTY = 0;
const DELETED = -1;

/** Words of a digest, which begins a record; then follow the length of its text in bytes, and the text. */
const DIGEST_WORDS = 8;
const RECORD_HEADER = 4 * DIGEST_WORDS + 4;

/** State of the content of a table: `stale` while the store cannot be reached. */
export type RecordTableState = "loading" | "current" | "stale";
const states: readonly RecordTableState[] = ["loading", "current", "stale"];

/**
 * Texts by SHA-256 digests, in shared memory. A record is never changed: its slot gets another one, so readers need no lock, and a
 * place stands for one version of a text.
 */
export class RecordTable {
  readonly memory: RecordMemory;
  /** A header, then the place of the record in each slot. */
  readonly slots: Int32Array;
  readonly words: Int32Array;
  /** The same memory as `words`: reads texts without a copy. */
  readonly #bytes: Buffer;

  constructor(memory: RecordMemory) {
    this.memory = memory;
    this.#bytes = Buffer.from(memory.records);
    this.slots = new Int32Array(memory.slots);
    this.words = new Int32Array(memory.records);
  }

  /** Changes with each change of the table. */
  get generation(): number {
    return Atomics.load(this.slots, GENERATION);
  }

  get state(): RecordTableState {
    return states[Atomics.load(this.slots, STATE)] ?? "stale";
  }

  /** Resolves once another table has taken its place. */
  async replaced(): Promise<void> {
    const { async, value } = Atomics.waitAsync(this.slots, REPLACED, 0);
    if (async) await value;
  }

  /** Returns the place of the record with a digest; 0 if there is none. */
  find(digest: Int32Array): number {
    return this.recordAt(this.slotOf(digest));
  }

  /** Returns the text of the record at a place. */
  textAt(place: number): string {
    const start = place * 4 + RECORD_HEADER;
    const length = this.words[place + DIGEST_WORDS] ?? 0;
    return this.#bytes.toString("utf8", start, start + length);
  }

  /** Returns the slot with a digest; -1 if there is none. */
  slotOf(digest: Int32Array): number {
    const mask = this.slots.length - HEADER_WORDS - 1;
    for (
      let index = (digest[0] ?? 0) & mask;;
      index = (index + 1) & mask
    ) {
      const place = Atomics.load(this.slots, HEADER_WORDS + index);
      if (place === EMPTY) return -1;
      if (place !== DELETED && this.#hasDigest(place, digest)) return index;
    }
  }

  /** Returns the place of the record in a slot; 0 for slot -1. */
  recordAt(slot: number): number {
    return slot < 0 ? 0 : Atomics.load(this.slots, HEADER_WORDS + slot);
  }

  #hasDigest(place: number, digest: Int32Array): boolean {
    for (let word = 0; word < DIGEST_WORDS; word++) {
      if (this.words[place + word] !== digest[word]) return false;
    }
    return true;
  }
}

const MIN_SLOTS = 2 ** 10;
const MIN_RECORD_BYTES = 2 ** 16;
/** A table grows to twice its size, but never by more. */
const MAX_GROWTH_BYTES = 2 ** 23;

/** The table as the thread that changes it has it. */
export class RecordTableWriter extends RecordTable {
  /** The next free word; 0 stands for an empty slot. */
  #next = 1;
  #usedSlots = 0;
  #liveBytes = 0;
  #count = 0;

  private constructor(slots: number, bytes: number) {
    super({
      slots: new SharedArrayBuffer(4 * (HEADER_WORDS + slots)),
      records: new SharedArrayBuffer(bytes),
    });
  }

  static create(): RecordTableWriter {
    return new RecordTableWriter(MIN_SLOTS, MIN_RECORD_BYTES);
  }

  /** Size of the memory in bytes. */
  get bytes(): number {
    return this.memory.slots.byteLength + this.memory.records.byteLength;
  }

  /** Sets the text of a digest; false if the memory is full, and nothing was written. */
  set(digest: Int32Array, text: string): boolean {
    const bytes = encoder.encode(text);
    const size = sizeOf(bytes.length);
    const capacity = this.slots.length - HEADER_WORDS;
    if (
      4 * this.#next + size > this.memory.records.byteLength ||
      4 * (this.#usedSlots + 1) > 3 * capacity
    ) return false;
    const place = this.#next;
    this.words.set(digest, place);
    this.words[place + DIGEST_WORDS] = bytes.length;
    new Uint8Array(this.memory.records)
      .set(bytes, place * 4 + RECORD_HEADER);
    this.#next += size / 4;
    this.#liveBytes += size;
    this.#link(digest, place);
    return true;
  }

  delete(digest: Int32Array): void {
    const slot = this.slotOf(digest);
    if (slot < 0) return;
    this.#liveBytes -= this.#sizeAt(this.recordAt(slot));
    this.#count--;
    Atomics.store(this.slots, HEADER_WORDS + slot, DELETED);
  }

  setState(state: RecordTableState): void {
    Atomics.store(this.slots, STATE, states.indexOf(state));
  }

  /** Tells readers to compare what they have cached. */
  publish(): void {
    Atomics.add(this.slots, GENERATION, 1);
  }

  /** Lists the places of all records. */
  *places(): Generator<number> {
    for (let index = HEADER_WORDS; index < this.slots.length; index++) {
      const place = Atomics.load(this.slots, index);
      if (place > 0) yield place;
    }
  }

  /** Copies the records to a table with room for `bytes` more, which takes the place of this one. */
  grow(bytes: number): RecordTableWriter {
    const growth = Math.min(this.#liveBytes, MAX_GROWTH_BYTES);
    const room = this.#liveBytes + sizeOf(bytes) + MIN_RECORD_BYTES + growth;
    const slots = 2 **
      Math.ceil(Math.log2(Math.max(MIN_SLOTS, 2 * this.#count)));
    const next = new RecordTableWriter(slots, 4 * Math.ceil(room / 4));
    for (const place of this.places()) {
      const size = this.#sizeAt(place) / 4;
      next.words.set(this.words.subarray(place, place + size), next.#next);
      next.#add(this.words[place] ?? 0, next.#next);
      next.#next += size;
    }
    next.#liveBytes = this.#liveBytes;
    Atomics.store(next.slots, STATE, Atomics.load(this.slots, STATE));
    return next;
  }

  /** Tells readers to fetch the table that has taken the place of this one. */
  retire(): void {
    Atomics.store(this.slots, REPLACED, 1);
    Atomics.notify(this.slots, REPLACED);
  }

  #link(digest: Int32Array, place: number): void {
    const known = this.slotOf(digest);
    if (known >= 0) {
      this.#liveBytes -= this.#sizeAt(this.recordAt(known));
      Atomics.store(this.slots, HEADER_WORDS + known, place);
    } else this.#add(digest[0] ?? 0, place);
  }

  /** Adds a record that the table does not have. @param word The first one of its digest. */
  #add(word: number, place: number): void {
    const mask = this.slots.length - HEADER_WORDS - 1;
    let index = word & mask;
    let found = Atomics.load(this.slots, HEADER_WORDS + index);
    while (found > 0) {
      index = (index + 1) & mask;
      found = Atomics.load(this.slots, HEADER_WORDS + index);
    }
    if (found === EMPTY) this.#usedSlots++;
    this.#count++;
    Atomics.store(this.slots, HEADER_WORDS + index, place);
  }

  #sizeAt(place: number): number {
    return sizeOf(this.words[place + DIGEST_WORDS] ?? 0);
  }
}

/** Size of a record in bytes, a multiple of four. */
function sizeOf(length: number): number {
  return RECORD_HEADER + 4 * Math.ceil(length / 4);
}

const encoder = new TextEncoder();
