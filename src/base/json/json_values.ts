import { Buffer } from "node:buffer";
import {
  ambiguous,
  countNames,
  JsonProblem,
  otherSpelling,
  tooManyValues,
  withoutIgnored,
} from "./json_ambiguity.ts";
import {
  findDecoded,
  findPlain,
  isSpelled,
  needsDecoding,
  setMember,
  type WantedMember,
  type WantedValue,
  WHOLE,
} from "./json_shape.ts";
import { isExactNumber, KIND, kinds } from "./json_tokens.ts";

/** Limit of values inside one that is read as a whole: `JSON.parse` takes 5 ms for so many. */
const MAX_VALUES = 10_000;
const MAX_WHOLE_BYTES = 1 << 20;
/** Limit of unread names with escapes or beyond ASCII, each of which takes a microsecond. */
const MAX_DECODED_NAMES = 1000;
/** Limit of items of a list. */
const MAX_ITEMS = 10_000;

/** A value to read as a whole. */
interface OpenValue {
  readonly depth: number;
  readonly start: number;
}

/** An open object with members to read. */
interface OpenObject extends OpenValue {
  readonly wanted: readonly WantedMember[];
  /** Members found so far. */
  readonly found: Record<string, unknown>;
  /** Name of the current member. */
  name: string;
}

/** An open list with items to read. */
class OpenList implements OpenValue {
  readonly depth: number;
  readonly start: number;
  /** Shape to read of each item. */
  readonly items: WantedValue | undefined;
  readonly found: unknown[] = [];

  constructor(items: WantedValue | undefined, { depth, start }: OpenValue) {
    this.items = items;
    this.depth = depth;
    this.start = start;
  }

  /** Index of the current item. */
  get name(): number {
    return this.found.length;
  }
}

/** Range of a value in the bytes, without surrounding white space. */
export interface JsonSpan {
  readonly start: number;
  readonly end: number;
}

/** Finds the values to read of a text, whose tokens it is told in order. Throws `JsonProblem` when servers read one differently. */
export class WantedValues {
  value: unknown;
  readonly #bytes: Uint8Array;
  readonly #buffer: Buffer;
  readonly #spans: Map<string, JsonSpan> | undefined;
  /** Shape to read of the next value. */
  #next: WantedValue | undefined;
  /** Open values with parts to read, and the innermost of them. */
  readonly #path: (OpenObject | OpenList)[] = [];
  #open: OpenObject | OpenList | undefined;
  /** Set inside a value to read as a whole. */
  #whole: OpenValue | undefined;
  #values = 0;
  #names = 0;
  #decodedNames = 0;

  constructor(
    bytes: Uint8Array,
    wanted: WantedValue,
    spans: Map<string, JsonSpan> | undefined,
  ) {
    this.#bytes = bytes;
    this.#spans = spans;
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#next = wanted;
  }

  /** Begins a value; returns whether it is read as a whole, or inside one that is. */
  begin(kind: number, depth: number, start: number): boolean {
    if (this.#next !== undefined) this.#select(this.#next, kind, depth, start);
    if (this.#whole === undefined) return false;
    if (++this.#values > MAX_VALUES) throw tooManyValues();
    return true;
  }

  #select(
    wanted: WantedValue,
    kind: number,
    depth: number,
    start: number,
  ): void {
    this.#next = undefined;
    const isScalar = kind !== KIND.OPEN_OBJECT && kind !== KIND.OPEN_LIST;
    if (wanted === WHOLE || isScalar) {
      this.#whole = { depth, start };
      this.#values = 0;
      this.#names = 0;
      return;
    }
    // An object in place of a list has no members to read, a list in place of an object no items.
    const { members = [], items } = wanted;
    const place = { depth: depth + 1, start };
    const isObject = kind === KIND.OPEN_OBJECT;
    this.#open = isObject
      ? { ...place, wanted: members, found: {}, name: "" }
      : new OpenList(items, place);
    this.#next = isObject ? undefined : items;
    this.#path.push(this.#open);
  }

  /** Ends the list or object at this depth. @param end Index after it. */
  close(depth: number, end: number): void {
    const open = this.#open;
    if (open?.depth === depth) {
      this.#next = undefined;
      this.#path.pop();
      this.#open = this.#path.at(-1);
      this.#found(open.found, { start: open.start, end });
    }
    if (this.#whole?.depth === depth - 1) this.#endWhole(this.#whole, end);
  }

  /** Ends a string, number or literal. */
  endScalar(kind: number, depth: number, start: number, end: number): void {
    if (this.#whole === undefined) return;
    if (kind === KIND.NUMBER) this.#checkNumber(start, end);
    if (this.#whole.depth === depth) this.#endWhole(this.#whole, end);
  }

  #endWhole({ start }: OpenValue, end: number): void {
    this.#whole = undefined;
    this.#found(this.#parse(start, end), { start, end });
  }

  #found(value: unknown, span: JsonSpan): void {
    if (this.#spans !== undefined) {
      this.#spans.set(this.#path.map(({ name }) => name).join("."), span);
    }
    const open = this.#open;
    if (open === undefined) this.value = value;
    else if ("wanted" in open) setMember(open.found, open.name, value);
    else {
      open.found.push(value);
      this.#next = open.items;
      if (open.found.length <= MAX_ITEMS) return;
      throw new JsonProblem("it has too many items", false);
    }
  }

  /** Reads the name of a member of the object at this depth. @param from Index of the quote before it; `to` is after the one that ends it. */
  readName(depth: number, from: number, to: number): void {
    if (this.#whole !== undefined) this.#names++;
    else if (this.#open?.depth === depth) {
      this.#findMember(this.#open, from, to);
    }
  }

  #findMember(open: OpenObject | OpenList, from: number, to: number): void {
    if (!("wanted" in open) || open.wanted.length === 0) return;
    const { wanted, found } = open;
    const start = from + 1;
    const end = to - 1;
    const isPlain = !needsDecoding(this.#bytes, start, end);
    const member = isPlain
      ? findPlain(wanted, this.#bytes, start, end)
      : findDecoded(wanted, this.#decodeName(from, to));
    if (member === undefined) return;
    if (Object.hasOwn(found, member.name)) {
      throw ambiguous(`the member ${JSON.stringify(member.name)} occurs twice`);
    }
    const isExact = isPlain
      ? isSpelled(member, this.#bytes, start)
      : this.#decode(from, to) === member.name;
    if (!isExact) throw otherSpelling(member.name);
    open.name = member.name;
    this.#next = member.value;
  }

  /** Decodes a name as the most lenient servers do. Escapes alone are not ambiguous. */
  #decodeName(from: number, to: number): string {
    if (++this.#decodedNames > MAX_DECODED_NAMES) {
      throw new JsonProblem("it has too many names with escapes", false);
    }
    return withoutIgnored(this.#decode(from, to));
  }

  /** Decodes a string in quotes. */
  #decode(from: number, to: number): string {
    return String(JSON.parse(this.#textOf(from, to)));
  }

  #checkNumber(start: number, end: number): void {
    if (isExactNumber(this.#textOf(start, end))) return;
    throw ambiguous("a number has more digits than all servers keep");
  }

  /** Parses a value to read as a whole. */
  #parse(start: number, end: number): unknown {
    if (end - start > MAX_WHOLE_BYTES) {
      throw new JsonProblem("a value is too long", false);
    }
    const first = kinds[this.#bytes[start] ?? 0];
    if (first === KIND.STRING && !needsDecoding(this.#bytes, start, end)) {
      return this.#buffer.toString("latin1", start + 1, end - 1);
    }
    const value: unknown = JSON.parse(this.#textOf(start, end));
    if (countNames(value) === this.#names) return value;
    throw ambiguous("a member occurs twice");
  }

  #textOf(start: number, end: number): string {
    return this.#buffer.toString("utf8", start, end);
  }
}
