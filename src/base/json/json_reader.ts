import { Buffer, isUtf8 } from "node:buffer";
import {
  ambiguous,
  countNames,
  JsonProblem,
  malformed,
  otherSpelling,
  withoutIgnored,
} from "./json_ambiguity.ts";
import {
  findDecoded,
  findPlain,
  isSpelled,
  type JsonSelection,
  needsDecoding,
  setMember,
  type WantedMember,
  type WantedValue,
  WHOLE,
} from "./json_shape.ts";
import {
  isExactNumber,
  KIND,
  kinds,
  NO_TOKEN,
  skipScalar,
  skipString,
} from "./json_tokens.ts";
import { messageWork } from "../slices.ts";

/** Limit of nesting inside a value that is read as a whole, or of a text that is parsed afterwards; many servers allow less. */
const MAX_DEPTH = 512;
/** Limit of values inside one that is read as a whole: `JSON.parse` takes 5 ms for so many. */
const MAX_VALUES = 10_000;
const MAX_WHOLE_BYTES = 1 << 20;
/** Limit of unread names with escapes or beyond ASCII, each of which takes a microsecond. */
const MAX_DECODED_NAMES = 1000;
/** Limit of items of a list. */
const MAX_ITEMS = 10_000;
/** Bytes that are read at a time, in at most 5 ms. */
const STEP_BYTES = 512 * 1024;

/** Levels for which there is room at first. */
const FIRST_LEVELS = 32;

/** Kinds of tokens that may come next: `VALUE_OR_END` after `[`. */
const VALUE = 0;
const VALUE_OR_END = 1;
const NAME = 2;
const NAME_OR_END = 3;
const COLON = 4;
const NEXT_OR_END = 5;
const NOTHING = 6;

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

/**
 * Reads a few members of a client's JSON text, and only validates the rest: `{"model": "a"}` of `{"model": "a", "messages": […]}`. If
 * there is a list in place of an object with members to read, or an object in place of a list with items to read, the result has an
 * empty one.
 *
 * Every server reads the result in the same way. Yields to the event loop; takes at most 15 ms per MB in all.
 * @param spans Receives the range of each read value by its path: `""` is the whole text, `params.name` a member, `tools.0` an item.
 * @throws {JsonProblem} If the text is not JSON in UTF-8 without a byte order mark, is too large, or is ambiguous: next to or inside a
 * value to read, a name occurs twice, also in another case, or has a NUL; a double cannot hold a number exactly; a string is not
 * valid Unicode.
 */
export async function readJson(
  bytes: Uint8Array,
  selection: JsonSelection,
  spans?: Map<string, JsonSpan>,
): Promise<unknown> {
  if (!isUtf8(bytes)) throw new JsonProblem("it is not UTF-8", false);
  const reader = new JsonReader(bytes, selection, spans);
  if (bytes.length > STEP_BYTES) await messageWork.pass();
  while (!reader.step()) await messageWork.pass();
  return reader.value;
}

class JsonReader {
  value: unknown;
  readonly #bytes: Uint8Array;
  readonly #buffer: Buffer;
  readonly #spans: Map<string, JsonSpan> | undefined;
  #at = 0;
  #expected = VALUE;
  #depth = 0;
  /** Kinds of open values by depth: 1 for an object, 0 for a list. */
  #isObject = new Uint8Array(FIRST_LEVELS);
  /** Shape to read of the next value. */
  #next: WantedValue | undefined;
  /** Open values with parts to read, and the innermost of them. */
  readonly #path: (OpenObject | OpenList)[] = [];
  #open: OpenObject | OpenList | undefined;
  #whole: OpenValue | undefined;
  /** True inside a value to read as a whole. */
  #values = 0;
  readonly #maxValues: number;
  #allValues = 0;
  #names = 0;
  #decodedNames = 0;

  constructor(
    bytes: Uint8Array,
    { wanted, maxValues }: JsonSelection,
    spans: Map<string, JsonSpan> | undefined,
  ) {
    this.#bytes = bytes;
    this.#spans = spans;
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#next = wanted;
    this.#maxValues = maxValues;
  }

  /** Reads the next slice; returns `true` at the end. One loop with its state in locals, since it runs for every byte of a body. */
  step(): boolean {
    const bytes = this.#bytes;
    let isObject = this.#isObject;
    const isParsed = this.#maxValues !== Infinity;
    const stop = Math.min(bytes.length, this.#at + STEP_BYTES);
    let at = this.#at;
    let expected = this.#expected;
    let depth = this.#depth;
    let values = this.#allValues;
    while (at < stop) {
      const kind = kinds[bytes[at] ?? 0] ?? KIND.OTHER;
      if (kind === KIND.BLANK) {
        at++;
      } else if (kind === KIND.SEPARATOR) {
        if (expected !== NEXT_OR_END) throw malformed();
        expected = isObject[depth] === 1 ? NAME : VALUE;
        at++;
      } else if (kind === KIND.NAME_END) {
        if (expected !== COLON) throw malformed();
        expected = VALUE;
        at++;
      } else if (
        expected === NAME || expected === NAME_OR_END && kind === KIND.STRING
      ) {
        const end = kind === KIND.STRING ? skipString(bytes, at) : NO_TOKEN;
        if (end === NO_TOKEN) throw malformed();
        if (this.#whole !== undefined) this.#names++;
        else if (this.#open?.depth === depth) {
          this.#readName(this.#open, at, end);
        }
        expected = COLON;
        at = end;
      } else if (kind === KIND.CLOSE_OBJECT || kind === KIND.CLOSE_LIST) {
        const end = kind === KIND.CLOSE_OBJECT ? NAME_OR_END : VALUE_OR_END;
        const isOwn = (isObject[depth] === 1) === (kind === KIND.CLOSE_OBJECT);
        if (!isOwn || expected !== end && expected !== NEXT_OR_END) {
          throw malformed();
        }
        if (this.#open?.depth === depth) this.#close(this.#open, at + 1);
        depth--;
        at++;
        if (this.#whole?.depth === depth) this.#endWhole(this.#whole, at);
        expected = depth === 0 ? NOTHING : NEXT_OR_END;
      } else {
        if (expected > VALUE_OR_END) throw malformed();
        if (this.#next !== undefined) this.#select(this.#next, kind, depth, at);
        const inWhole = this.#whole !== undefined;
        if (
          ++values > this.#maxValues ||
          inWhole && ++this.#values > MAX_VALUES
        ) throw new JsonProblem("it has too many values", false);
        if (kind === KIND.OPEN_OBJECT || kind === KIND.OPEN_LIST) {
          if (++depth > MAX_DEPTH && (inWhole || isParsed)) {
            throw new JsonProblem("it is nested too deeply", false);
          }
          if (depth === isObject.length) isObject = this.#addLevels();
          isObject[depth] = kind === KIND.OPEN_OBJECT ? 1 : 0;
          expected = kind === KIND.OPEN_OBJECT ? NAME_OR_END : VALUE_OR_END;
          at++;
        } else {
          const end = skipScalar(bytes, at, kind);
          if (end === NO_TOKEN) throw malformed();
          if (this.#whole !== undefined) {
            if (kind === KIND.NUMBER) this.#checkNumber(at, end);
            if (this.#whole.depth === depth) this.#endWhole(this.#whole, end);
          }
          expected = depth === 0 ? NOTHING : NEXT_OR_END;
          at = end;
        }
      }
    }
    this.#at = at;
    this.#expected = expected;
    this.#depth = depth;
    this.#allValues = values;
    if (at < bytes.length) return false;
    if (expected !== NOTHING) throw malformed();
    return true;
  }

  /** Makes room for more levels: a client can nest as deep as its body is long. */
  #addLevels(): Uint8Array<ArrayBuffer> {
    const known = this.#isObject;
    this.#isObject = new Uint8Array(known.length * 2);
    this.#isObject.set(known);
    return this.#isObject;
  }

  /** Begins to read a value. */
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

  #close({ start, found }: OpenObject | OpenList, end: number): void {
    this.#next = undefined;
    this.#path.pop();
    this.#open = this.#path.at(-1);
    this.#found(found, { start, end });
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

  /** @param from Index of the quote before the name; `to` is after the quote that ends it. */
  #readName(open: OpenObject | OpenList, from: number, to: number): void {
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
