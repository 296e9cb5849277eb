import { isUtf8 } from "node:buffer";
import { JsonProblem, malformed, tooManyValues } from "./json_ambiguity.ts";
import type { JsonSelection } from "./json_shape.ts";
import {
  KIND,
  kinds,
  NO_TOKEN,
  skipScalar,
  skipString,
  skipStringFrom,
  unfinishedAt,
} from "./json_tokens.ts";
import { type JsonSpan, WantedValues } from "./json_values.ts";
import { messageWork } from "../slices.ts";

/** Limit of nesting inside a value that is read as a whole, or of a text that is parsed afterwards; many servers allow less. */
const MAX_DEPTH = 512;
/** Bytes that are read at a time, in at most 5 ms. */
const STEP_BYTES = 512 * 1024;

/** Levels for which there is room at first. */
const FIRST_LEVELS = 32;
/** Memory of a reader that has ended, for the next one: a typed array costs as much as ten tokens. */
let spareLevels: Uint8Array<ArrayBuffer> | undefined;

/** Kinds of tokens that may come next: `VALUE_OR_END` after `[`. */
const VALUE = 0;
const VALUE_OR_END = 1;
const NAME = 2;
const NAME_OR_END = 3;
const COLON = 4;
const NEXT_OR_END = 5;
const NOTHING = 6;

export type { JsonSpan };

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
  for (let at = 0; at < bytes.length;) {
    const end = characterStart(bytes, at + CHECKED_BYTES);
    if (!isUtf8(end - at === bytes.length ? bytes : bytes.subarray(at, end))) {
      throw new JsonProblem("it is not UTF-8", false);
    }
    at = end;
    if (at < bytes.length) await messageWork.pass();
  }
  const reader = new JsonReader(bytes, selection, spans);
  if (bytes.length > STEP_BYTES) await messageWork.pass();
  while (!reader.step()) await messageWork.pass();
  return reader.value;
}

/** Bytes that are checked at a time, in at most 5 ms. */
const CHECKED_BYTES = 4 * 1024 * 1024;
/** Most bytes of a character after its first one. */
const MAX_CONTINUATION = 3;

/** Returns the index of the first byte of the character at `end`, or the length; of what is not UTF-8, that of any byte. */
function characterStart(bytes: Uint8Array, end: number): number {
  if (end >= bytes.length) return bytes.length;
  for (let at = end; at > end - MAX_CONTINUATION; at--) {
    if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return at;
  }
  return end - MAX_CONTINUATION;
}

class JsonReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #values: WantedValues;
  #at = 0;
  #expected = VALUE;
  #depth = 0;
  /** Kinds of open values by depth: 1 for an object, 0 for a list. */
  #isObject = spareLevels ?? new Uint8Array(FIRST_LEVELS);
  readonly #maxValues: number;
  #allValues = 0;
  /** Index to go on at, of a long string of which a part was skipped; 0 outside of one. */
  #inString = 0;

  constructor(
    bytes: Uint8Array,
    { wanted, maxValues }: JsonSelection,
    spans: Map<string, JsonSpan> | undefined,
  ) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#values = new WantedValues(bytes, wanted, spans);
    this.#maxValues = maxValues;
    spareLevels = undefined;
  }

  get value(): unknown {
    return this.#values.value;
  }

  /** Reads the next slice; returns `true` at the end. One loop with its state in locals, since it runs for every token of a body. */
  step(): boolean {
    const bytes = this.#bytes;
    const wanted = this.#values;
    let isObject = this.#isObject;
    const stop = Math.min(bytes.length, this.#at + STEP_BYTES);
    let at = this.#at;
    let expected = this.#expected;
    let depth = this.#depth;
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
        wanted.readName(depth, at, end);
        expected = COLON;
        at = end;
      } else if (kind === KIND.CLOSE_OBJECT || kind === KIND.CLOSE_LIST) {
        const end = kind === KIND.CLOSE_OBJECT ? NAME_OR_END : VALUE_OR_END;
        const isOwn = (isObject[depth] === 1) === (kind === KIND.CLOSE_OBJECT);
        const isExpected = expected === end || expected === NEXT_OR_END;
        if (!isOwn || !isExpected) throw malformed();
        wanted.close(depth, ++at);
        expected = --depth === 0 ? NOTHING : NEXT_OR_END;
      } else {
        if (expected > VALUE_OR_END) throw malformed();
        if (this.#inString === 0) this.#beginValue(kind, depth, at);
        if (kind === KIND.OPEN_OBJECT || kind === KIND.OPEN_LIST) {
          if (++depth === isObject.length) isObject = this.#addLevels();
          isObject[depth] = kind === KIND.OPEN_OBJECT ? 1 : 0;
          expected = kind === KIND.OPEN_OBJECT ? NAME_OR_END : VALUE_OR_END;
          at++;
        } else {
          const end = this.#skipScalar(kind, at);
          if (this.#inString > 0) break;
          wanted.endScalar(kind, depth, at, end);
          expected = depth === 0 ? NOTHING : NEXT_OR_END;
          at = end;
        }
      }
    }
    this.#at = at;
    this.#expected = expected;
    this.#depth = depth;
    return at >= bytes.length && this.#isComplete();
  }

  #isComplete(): true {
    if (this.#expected !== NOTHING) throw malformed();
    if (this.#isObject.length === FIRST_LEVELS) spareLevels = this.#isObject;
    return true;
  }

  /** Skips a scalar, or a slice of a long string. */
  #skipScalar(kind: number, start: number): number {
    const bytes = this.#bytes;
    const from = this.#inString || start + 1;
    const stop = Math.min(bytes.length, from + STEP_BYTES);
    const end = kind === KIND.STRING
      ? skipStringFrom(bytes, from, stop, this.#view)
      : skipScalar(bytes, start, kind);
    if (end === NO_TOKEN) throw malformed();
    this.#inString = end < NO_TOKEN ? unfinishedAt(end) : 0;
    return end;
  }

  #beginValue(kind: number, depth: number, at: number): void {
    const inWhole = this.#values.begin(kind, depth, at);
    if (++this.#allValues > this.#maxValues) throw tooManyValues();
    if (depth < MAX_DEPTH || !inWhole && this.#maxValues === Infinity) return;
    if (kind !== KIND.OPEN_OBJECT && kind !== KIND.OPEN_LIST) return;
    throw new JsonProblem("it is nested too deeply", false);
  }

  /** Makes room for more levels: a client can nest as deep as its body is long. */
  #addLevels(): Uint8Array<ArrayBuffer> {
    const known = this.#isObject;
    this.#isObject = new Uint8Array(known.length * 2);
    this.#isObject.set(known);
    return this.#isObject;
  }
}
