import { CLOSED } from "../budget/budget_window.ts";
import {
  boundKey,
  type BudgetTable,
  type CountName,
} from "../local/budget_table.ts";
import { type KeyHash, KeyHasher, SEED_WORDS } from "./key_hash.ts";
import { numbersOf, RecordWindow } from "./record_window.ts";

/** Record of a key, from 1. Fresh memory has none: it is 0. */
type RecordId = number;
/** No record. */
const NONE = 0;

/** Places of counts in the 64-bit numbers. */
const counts: Readonly<Record<CountName, number>> = {
  admitted: 0,
  refused: 1,
  charged: 2,
  evictedKeys: 3,
};
const COUNTS = 4;

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
 * limit. Only whoever has the lock may use it.
 *
 * Records are used one after the other, 48 bytes each and 8 for each thread that may hold something, so the machine provides only as
 * much memory as there are keys.
 */
export class KeyTable implements BudgetTable<KeyHash> {
  readonly buffer: SharedArrayBuffer;
  readonly maxKeys: number;
  readonly #words: Int32Array;
  readonly #numbers: Float64Array;
  readonly #bucketMask: number;
  readonly #firstRecord: number;
  readonly #recordNumbers: number;
  readonly #window: RecordWindow;
  readonly #hasher: KeyHasher;

  /**
   * @param buffer Memory of a table of the same size; fresh memory by default.
   * @param holders Threads that may hold something; 0 for limits that hold nothing.
   * @param holder Number of this thread among them, from 0.
   * @param seed Seed of the hashes of keys.
   */
  constructor(
    maxKeys: number,
    { buffer, holders = 0, holder = 0, seed = new Int32Array(SEED_WORDS) }: {
      readonly buffer?: SharedArrayBuffer;
      readonly holders?: number;
      readonly holder?: number;
      readonly seed?: Int32Array;
    } = {},
  ) {
    const buckets = 2 ** Math.ceil(Math.log2(maxKeys));
    this.#recordNumbers = numbersOf(holders);
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
    this.#hasher = new KeyHasher(seed);
  }

  /** Memory and place of the lock. */
  get lock(): readonly [words: Int32Array, at: number] {
    return [this.#words, LOCK];
  }

  get size(): number {
    return this.#read(SIZE);
  }

  get oldest(): RecordWindow | undefined {
    return this.#windowAt(this.#read(OLDEST));
  }

  keyOf(text: string): KeyHash {
    return this.#hasher.hash(boundKey(text));
  }

  use(hash: KeyHash): RecordWindow | undefined {
    const record = this.#find(hash);
    if (record !== NONE && record !== this.#read(NEWEST)) {
      this.#unlink(record);
      this.#link(record);
    }
    return this.#windowAt(record);
  }

  peek(hash: KeyHash): RecordWindow | undefined {
    return this.#windowAt(this.#find(hash));
  }

  add({ a, b, c, d }: KeyHash): RecordWindow {
    const record = this.#allocate();
    const place = this.#placeOf(record);
    this.#words.set([a, b, c, d], place + HASH);
    const window = this.#moveWindow(record);
    window.openedAt = CLOSED;
    window.used = 0;
    window.dropHeld();
    this.#write(place + IS_IN_USE, 1);
    this.#chain(record);
    this.#link(record);
    this.#write(SIZE, this.size + 1);
    return window;
  }

  deleteOldest(): void {
    this.#delete(this.#read(OLDEST));
  }

  delete(hash: KeyHash): void {
    this.#delete(this.#find(hash));
  }

  /** Deletes the keys whose hash is selected. */
  deleteAll(isSelected: (hash: KeyHash) => boolean): void {
    for (let it = this.#next(NONE); it !== NONE; it = this.#next(it)) {
      if (isSelected(this.#hashOf(it))) this.#delete(it);
    }
  }

  *windows(): Generator<RecordWindow> {
    for (let it = this.#next(NONE); it !== NONE; it = this.#next(it)) {
      yield this.#moveWindow(it);
    }
  }

  /** Ends all that a thread holds, which has ended. */
  dropHolder(holder: number): void {
    for (const window of this.windows()) window.dropHeldOf(holder);
  }

  /** Threads that do not have the lock may read it as well. */
  get held(): number {
    let sum = 0;
    for (const { held } of this.windows()) sum += held;
    return sum;
  }

  /** Threads that do not have the lock may read it as well. */
  count(name: CountName): number {
    return this.#numbers[counts[name]] ?? 0;
  }

  increase(name: CountName, by: number): void {
    this.#numbers[counts[name]] = this.count(name) + by;
  }

  /** Returns the record after this one that is in use, in no particular order, or `NONE`. */
  #next(record: RecordId): RecordId {
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
      let record = this.#read(OLDEST);
      record > NONE && record <= this.maxKeys && this.#isInUse(record) &&
      !order.has(record);
      record = this.#read(this.#placeOf(record) + NEWER)
    ) order.add(record);
    for (let it = this.#next(NONE); it !== NONE; it = this.#next(it)) {
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

  #moveWindow(record: RecordId): RecordWindow {
    this.#window.at = COUNTS + (record - 1) * this.#recordNumbers;
    return this.#window;
  }

  #windowAt(record: RecordId): RecordWindow | undefined {
    return record === NONE ? undefined : this.#moveWindow(record);
  }

  /** Returns the record of a key, or `NONE`. */
  #find(hash: KeyHash): RecordId {
    let record = this.#read(this.#bucketOf(hash.a));
    while (record !== NONE && !this.#has(record, hash)) {
      record = this.#read(this.#placeOf(record) + NEXT);
    }
    return record;
  }

  #delete(record: RecordId): void {
    if (record === NONE) return;
    this.#write(this.#placeOf(record) + IS_IN_USE, 0);
    this.#unchain(record);
    this.#unlink(record);
    this.#free(record);
    this.#write(SIZE, this.size - 1);
  }

  #hashOf(record: RecordId): KeyHash {
    const place = this.#placeOf(record) + HASH;
    const [a = 0, b = 0, c = 0, d = 0] = this.#words.subarray(place, place + 4);
    return { a, b, c, d };
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
