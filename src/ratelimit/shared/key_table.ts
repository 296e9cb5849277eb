import { type BudgetWindow, CLOSED } from "../budget/budget_window.ts";
import type { KeyHash } from "./key_hash.ts";

/** Record of a key, from 1. Fresh memory has none: it is 0. */
export type RecordId = number;
/** No record. */
export const NONE = 0;

/** Places of counts in the 64-bit numbers. */
export const count = {
  admitted: 0,
  refused: 1,
  charged: 2,
  evictedKeys: 3,
} as const;
const COUNTS = 4;
/** Numbers of a record: what is used, when its window opened, and what each thread holds. */
const USED_AMOUNT = 0;
const OPENED_AT = 1;
const HELD = 2;

/** Places of the words of a limit; the lock takes two. */
const LOCK = 0;
const SIZE = 2;
/** Records that were ever used; those beyond are fresh memory. */
const USED = 3;
/** First free record that was used before. */
const FREE = 4;
const OLDEST = 5;
const NEWEST = 6;
const HEADER_WORDS = 8;

/** Places of the words of a record; the hash takes four. */
const IS_IN_USE = 0;
const HASH = 1;
/** Next record of the same bucket, or next free one. */
const NEXT = 5;
const OLDER = 6;
const NEWER = 7;
const RECORD_WORDS = 8;

/**
 * Budgets of a limit in memory that threads share: a hash table whose records are linked in the order of use, and the counts of the
 * limit. Only whoever holds the lock may use it.
 *
 * Records are used one after the other, 48 bytes each and 8 for each thread that may hold something, so the machine provides only as
 * much memory as there are keys.
 */
export class KeyTable {
  readonly buffer: SharedArrayBuffer;
  readonly maxKeys: number;
  readonly #words: Int32Array;
  readonly #numbers: Float64Array;
  readonly #bucketMask: number;
  readonly #firstRecord: number;
  readonly #recordNumbers: number;
  readonly #window: RecordWindow;

  /**
   * @param buffer Memory of a table of the same size; fresh memory by default.
   * @param holders Threads that may hold something; 0 for limits that hold nothing.
   * @param holder Number of this thread among them, from 0.
   */
  constructor(
    maxKeys: number,
    { buffer, holders = 0, holder = 0 }: {
      readonly buffer?: SharedArrayBuffer;
      readonly holders?: number;
      readonly holder?: number;
    } = {},
  ) {
    const buckets = 2 ** Math.ceil(Math.log2(maxKeys));
    this.#recordNumbers = HELD + holders;
    const numbers = COUNTS + maxKeys * this.#recordNumbers;
    const start = numbers * Float64Array.BYTES_PER_ELEMENT;
    this.#firstRecord = HEADER_WORDS + buckets;
    const words = this.#firstRecord + maxKeys * RECORD_WORDS;
    this.buffer = buffer ??
      new SharedArrayBuffer(start + words * Int32Array.BYTES_PER_ELEMENT);
    this.maxKeys = maxKeys;
    this.#bucketMask = buckets - 1;
    this.#numbers = new Float64Array(this.buffer, 0, numbers);
    this.#words = new Int32Array(this.buffer, start, words);
    this.#window = new RecordWindow(this.#numbers, { holders, holder });
  }

  /** Memory and place of the lock. */
  get lock(): readonly [words: Int32Array, at: number] {
    return [this.#words, LOCK];
  }

  get size(): number {
    return this.#read(SIZE);
  }

  get oldest(): RecordId {
    return this.#read(OLDEST);
  }

  /** Returns the record of a key, or `NONE`. */
  find(hash: KeyHash): RecordId {
    let record = this.#read(this.#bucketOf(hash.a));
    while (record !== NONE && !this.#has(record, hash)) {
      record = this.#read(this.#placeOf(record) + NEXT);
    }
    return record;
  }

  /** Makes a record the most recent one. */
  touch(record: RecordId): void {
    if (record === this.#read(NEWEST)) return;
    this.#unlink(record);
    this.#link(record);
  }

  /** Adds a key that is not there, with a closed window. There must be room. */
  add({ a, b, c, d }: KeyHash): RecordId {
    const record = this.#allocate();
    const place = this.#placeOf(record);
    this.#write(place + HASH, a);
    this.#write(place + HASH + 1, b);
    this.#write(place + HASH + 2, c);
    this.#write(place + HASH + 3, d);
    const window = this.window(record);
    window.openedAt = CLOSED;
    window.used = 0;
    this.#window.dropHeld();
    this.#write(place + IS_IN_USE, 1);
    this.#chain(record);
    this.#link(record);
    this.#write(SIZE, this.size + 1);
    return record;
  }

  delete(record: RecordId): void {
    this.#write(this.#placeOf(record) + IS_IN_USE, 0);
    this.#unchain(record);
    this.#unlink(record);
    this.#free(record);
    this.#write(SIZE, this.size - 1);
  }

  /** Returns the budget of a record, until the next call. */
  window(record: RecordId): BudgetWindow {
    return this.#windowAt(record);
  }

  /** Ends all that a thread holds, which has ended. */
  dropHolder(holder: number): void {
    for (let it = this.next(NONE); it !== NONE; it = this.next(it)) {
      this.#windowAt(it).dropHeldOf(holder);
    }
  }

  #windowAt(record: RecordId): RecordWindow {
    this.#window.at = COUNTS + (record - 1) * this.#recordNumbers;
    return this.#window;
  }

  /** Returns what is held, over all records; threads that do not hold the lock may read as well. */
  get held(): number {
    let sum = 0;
    for (let it = this.next(NONE); it !== NONE; it = this.next(it)) {
      sum += this.window(it).held;
    }
    return sum;
  }

  /** Returns the hash of the key of a record. */
  hashOf(record: RecordId): KeyHash {
    const place = this.#placeOf(record) + HASH;
    return {
      a: this.#read(place),
      b: this.#read(place + 1),
      c: this.#read(place + 2),
      d: this.#read(place + 3),
    };
  }

  /** Returns a count; threads that do not hold the lock may read as well. */
  count(index: number): number {
    return this.#numbers[index] ?? 0;
  }

  increase(index: number, by: number): void {
    this.#numbers[index] = this.count(index) + by;
  }

  /** Returns the record after this one that is in use, in no particular order, or `NONE`. */
  next(record: RecordId): RecordId {
    const used = this.#read(USED);
    for (let next = record + 1; next <= used; next++) {
      if (this.#isInUse(next)) return next;
    }
    return NONE;
  }

  /** Rebuilds all links, after a thread died while it changed them. The order of use is kept as far as it is known. */
  repair(): void {
    const order = new Set<RecordId>();
    for (
      let record = this.oldest;
      record > NONE && record <= this.maxKeys && this.#isInUse(record) &&
      !order.has(record);
      record = this.#read(this.#placeOf(record) + NEWER)
    ) order.add(record);
    for (let it = this.next(NONE); it !== NONE; it = this.next(it)) {
      order.add(it);
    }
    this.#words.fill(0, HEADER_WORDS, this.#firstRecord);
    for (const place of [FREE, OLDEST, NEWEST]) this.#write(place, NONE);
    for (let record = this.#read(USED); record > NONE; record--) {
      if (!order.has(record)) this.#free(record);
    }
    for (const record of order) {
      this.#chain(record);
      this.#link(record);
    }
    this.#write(SIZE, order.size);
  }

  #isInUse(record: RecordId): boolean {
    return this.#read(this.#placeOf(record) + IS_IN_USE) === 1;
  }

  #has(record: RecordId, { a, b, c, d }: KeyHash): boolean {
    const place = this.#placeOf(record) + HASH;
    return this.#read(place) === a && this.#read(place + 1) === b &&
      this.#read(place + 2) === c && this.#read(place + 3) === d;
  }

  #allocate(): RecordId {
    const freed = this.#read(FREE);
    if (freed !== NONE) {
      this.#write(FREE, this.#read(this.#placeOf(freed) + NEXT));
      return freed;
    }
    const record = this.#read(USED) + 1;
    if (record > this.maxKeys) throw new RangeError("The key table is full");
    this.#write(USED, record);
    return record;
  }

  #free(record: RecordId): void {
    this.#write(this.#placeOf(record) + NEXT, this.#read(FREE));
    this.#write(FREE, record);
  }

  #chain(record: RecordId): void {
    const place = this.#placeOf(record);
    const bucket = this.#bucketOf(this.#read(place + HASH));
    this.#write(place + NEXT, this.#read(bucket));
    this.#write(bucket, record);
  }

  #unchain(record: RecordId): void {
    const place = this.#placeOf(record);
    let link = this.#bucketOf(this.#read(place + HASH));
    while (this.#read(link) !== record) {
      link = this.#placeOf(this.#read(link)) + NEXT;
    }
    this.#write(link, this.#read(place + NEXT));
  }

  #link(record: RecordId): void {
    const newest = this.#read(NEWEST);
    const place = this.#placeOf(record);
    this.#write(place + OLDER, newest);
    this.#write(place + NEWER, NONE);
    this.#write(
      newest === NONE ? OLDEST : this.#placeOf(newest) + NEWER,
      record,
    );
    this.#write(NEWEST, record);
  }

  #unlink(record: RecordId): void {
    const place = this.#placeOf(record);
    const older = this.#read(place + OLDER);
    const newer = this.#read(place + NEWER);
    this.#write(older === NONE ? OLDEST : this.#placeOf(older) + NEWER, newer);
    this.#write(newer === NONE ? NEWEST : this.#placeOf(newer) + OLDER, older);
  }

  #bucketOf(hash: number): number {
    return HEADER_WORDS + (hash & this.#bucketMask);
  }

  #placeOf(record: RecordId): number {
    return this.#firstRecord + (record - 1) * RECORD_WORDS;
  }

  #read(place: number): number {
    return this.#words[place] ?? 0;
  }

  #write(place: number, value: number): void {
    this.#words[place] = value;
  }
}

/** Budget of the record at a place of the numbers. */
class RecordWindow implements BudgetWindow {
  readonly #numbers: Float64Array;
  readonly #holders: number;
  readonly #holder: number;
  at = 0;

  constructor(
    numbers: Float64Array,
    { holders, holder }: { readonly holders: number; readonly holder: number },
  ) {
    this.#numbers = numbers;
    this.#holders = holders;
    this.#holder = holder;
  }

  get used(): number {
    return this.#numbers[this.at + USED_AMOUNT] ?? 0;
  }

  set used(used: number) {
    this.#numbers[this.at + USED_AMOUNT] = used;
  }

  get openedAt(): number {
    return this.#numbers[this.at + OPENED_AT] ?? 0;
  }

  set openedAt(openedAt: number) {
    this.#numbers[this.at + OPENED_AT] = openedAt;
  }

  /** Added up on each access, so that a thread that dies leaves no sum that is half updated. */
  get held(): number {
    let sum = 0;
    for (let holder = 0; holder < this.#holders; holder++) {
      sum += this.#numbers[this.at + HELD + holder] ?? 0;
    }
    return sum;
  }

  addHeld(amount: number): void {
    const place = this.at + HELD + this.#holder;
    this.#numbers[place] = Math.max(0, (this.#numbers[place] ?? 0) + amount);
  }

  dropHeld(): void {
    this.#numbers.fill(0, this.at + HELD, this.at + HELD + this.#holders);
  }

  dropHeldOf(holder: number): void {
    if (holder < this.#holders) this.#numbers[this.at + HELD + holder] = 0;
  }
}
