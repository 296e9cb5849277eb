import type { ResourceDiagnostic } from "../../base/diagnostic.ts";
import type { Report } from "./report.ts";

/** A look-up that a result depends on: while repeating it gives the same value, the result holds. */
interface Read {
  readonly again: () => unknown;
  readonly value: unknown;
}

/** Reads while a result is computed. */
interface Recording {
  readonly reads: Read[];
  isRepeatable: boolean;
}

/** A change of a table that is kept or undone. */
interface Transaction {
  begin(): void;
  commit(): void;
  abandon(): void;
}

/**
 * Remembers parts of a compilation for the next one. While a part is computed, its look-ups go through `read`; its result holds as
 * long as they find the same. What an abandoned compilation computed is forgotten.
 */
export class CompileMemory {
  readonly #tables: Transaction[] = [];
  readonly #views: View<unknown>[] = [];
  #recording: Recording | undefined;
  #report: Report | undefined;

  /** Creates a table of results by key. @param drop Called for each result that is not used any more. */
  table<Key, Result>(
    drop: (result: Result) => void = () => {},
  ): ResultTable<Key, Result> {
    const table = new ResultTable<Key, Result>(this, drop);
    this.#tables.push(table);
    return table;
  }

  /** Creates a view, which a pass of each compilation fills. */
  view<Data>(): View<Data> {
    const view = new View<Data>(this);
    this.#views.push(view);
    return view;
  }

  /** Begins a compilation; problems of results that still hold go to `report`. */
  begin(report?: Report): void {
    this.#report = report;
    for (const view of this.#views) view.empty();
    for (const table of this.#tables) table.begin();
  }

  /** Keeps the results that the compilation used, and drops all others. */
  commit(): void {
    for (const table of this.#tables) table.commit();
  }

  /** Returns to the results of the compilation before. */
  abandon(): void {
    for (const table of this.#tables) table.abandon();
  }

  /** Looks something up. @param again Also called in later compilations. Equal values are identical, or lists of identical items. */
  read<T>(again: () => T): T {
    const recording = this.#recording;
    const value = this.#withRecording(undefined, again);
    recording?.reads.push({ again, value });
    return value;
  }

  /** Keeps the result that is being computed from being remembered. */
  forgetThis(): void {
    if (this.#recording !== undefined) this.#recording.isRepeatable = false;
  }

  /** Computes a result with everything that it depends on. */
  record<Result>(compute: () => Result): Remembered<Result> {
    const recording: Recording = { reads: [], isRepeatable: true };
    const run = () => this.#withRecording(recording, compute);
    const { result, reported, hasSuggested } = this.#report?.record(run) ??
      { result: run(), reported: [], hasSuggested: false };
    // A suggestion depends on all names.
    const isRepeatable = recording.isRepeatable && !hasSuggested;
    return { result, reads: recording.reads, reported, isRepeatable };
  }

  /** Reports whether a result of an earlier compilation holds in this one; repeats its problems if so. */
  holds({ reads, reported, isRepeatable }: Remembered<unknown>): boolean {
    const isSame = isRepeatable && this.#withRecording(
      undefined,
      () => reads.every(({ again, value }) => areSame(again(), value)),
    );
    if (isSame) this.#report?.repeat(reported);
    return isSame;
  }

  #withRecording<T>(recording: Recording | undefined, run: () => T): T {
    const outer = this.#recording;
    this.#recording = recording;
    try {
      return run();
    } finally {
      this.#recording = outer;
    }
  }
}

/** A result and what it depends on. */
interface Remembered<Result> {
  readonly result: Result;
  readonly reads: readonly Read[];
  readonly reported: readonly ResourceDiagnostic[];
  readonly isRepeatable: boolean;
}

/** The data of one pass, which results depend on as far as they read it. */
export class View<Data> {
  readonly #memory: CompileMemory;
  #data: { readonly filled: Data } | undefined;

  constructor(memory: CompileMemory) {
    this.#memory = memory;
  }

  /** Sets the data of this compilation. */
  fill(data: Data): void {
    this.#data = { filled: data };
  }

  /** Drops the data of the compilation before. */
  empty(): void {
    this.#data = undefined;
  }

  /** Returns a part of the data. @throws {TypeError} Before the pass that fills the view. */
  read<Part>(select: (data: Data) => Part): Part {
    return this.#memory.read(() => select(this.data));
  }

  /** Returns all of the data, so that the result that is being computed is not remembered. */
  get all(): Data {
    this.#memory.forgetThis();
    return this.data;
  }

  /** The data, for what is not remembered. */
  get data(): Data {
    if (this.#data !== undefined) return this.#data.filled;
    throw new TypeError("Read before the pass that has the data");
  }
}

/** Results by key. */
export class ResultTable<Key, Result> implements Transaction {
  readonly #memory: CompileMemory;
  readonly #drop: (result: Result) => void;
  #committed: ReadonlyMap<Key, Remembered<Result>> = new Map();
  #next = new Map<Key, Remembered<Result>>();
  /** Inputs of results in this compilation; see `recallFrom`. */
  readonly #inputs = new Map<Key, readonly unknown[]>();

  constructor(memory: CompileMemory, drop: (result: Result) => void) {
    this.#memory = memory;
    this.#drop = drop;
  }

  /** Returns the result for a key; computes it if none is remembered that holds. */
  recall(key: Key, compute: () => Result): Result {
    if (this.#find(key) === undefined) {
      this.#next.set(key, this.#memory.record(compute));
    }
    // The caller depends on this result.
    const found = this.#memory.read(() => this.#find(key));
    if (found === undefined) throw new TypeError("A result was not remembered");
    return found.result;
  }

  /** Returns the result for a key as long as it is computed from the same `inputs`. */
  recallFrom(
    key: Key,
    inputs: readonly unknown[],
    compute: () => Result,
  ): Result {
    this.#inputs.set(key, inputs);
    return this.recall(key, () => {
      this.#memory.read(() => this.#inputs.get(key));
      return compute();
    });
  }

  /** Returns the results that the last commit did not have. */
  added(): readonly Result[] {
    return this.#next.entries().filter(([key, each]) =>
      this.#committed.get(key) !== each
    ).map(([, { result }]) => result).toArray();
  }

  begin(): void {
    this.#next = new Map();
    this.#inputs.clear();
  }

  commit(): void {
    const before = this.#committed;
    this.#committed = this.#next;
    for (const [key, each] of before) {
      if (this.#committed.get(key) !== each) this.#drop(each.result);
    }
  }

  abandon(): void {
    for (const result of this.added()) this.#drop(result);
    this.#next = new Map();
  }

  #find(key: Key): Remembered<Result> | undefined {
    const current = this.#next.get(key);
    if (current !== undefined) return current;
    const known = this.#committed.get(key);
    if (known === undefined || !this.#memory.holds(known)) return undefined;
    this.#next.set(key, known);
    return known;
  }
}

/** Reports whether two values are identical, or lists of identical items. */
export function areSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  return Array.isArray(a) && Array.isArray(b) && a.length === b.length &&
    a.every((item, index) => item === b[index]);
}
