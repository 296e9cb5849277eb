import {
  KIND,
  kinds,
  NO_TOKEN,
  skipScalar,
  skipString,
} from "./json_tokens.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BACKSLASH = 0x5c;
const HIGHEST_ASCII = 0x7f;

/** Tokens that may come next inside of a value: `VALUE_OR_END` after `[`. */
const VALUE = 0;
const VALUE_OR_END = 1;
const NAME = 2;
const NAME_OR_END = 3;
const COLON_NEXT = 4;
const NEXT_OR_END = 5;

const MAX_DEPTH = 512;
/** Kinds of the open values by depth, 1 for an object; nothing else runs while a value is skipped. */
const isObjectAt = new Uint8Array(MAX_DEPTH + 1);

/** Encodes the names that `JsonCursor.nameIn` looks for. */
export function jsonNames(...names: string[]): readonly Uint8Array[] {
  return names.map((name) => new TextEncoder().encode(name));
}

/**
 * Walks through the members of objects in a short JSON text, and validates what it skips: what is made of spans of the text is valid
 * JSON again, without parsing and writing values. After a syntax error, `hasFailed` is true and there are no more members.
 */
export class JsonCursor {
  readonly bytes: Uint8Array;
  /** Index of the next token. */
  at: number;
  hasFailed = false;
  /** A line break stands between the tokens so far. */
  hasBreaks = false;
  /** Span of the name of the current member, without its quotes. */
  nameStart = 0;
  nameEnd = 0;
  readonly #end: number;
  readonly #maxDepth: number;
  #depth = 0;
  /** The next token ends the object, or separates a member from the one before. */
  #isAfterValue = false;

  /** @param maxDepth Deeper texts are invalid; at most 512. */
  constructor(bytes: Uint8Array, start: number, end: number, maxDepth: number) {
    this.bytes = bytes;
    this.at = start;
    this.#end = end;
    this.#maxDepth = maxDepth;
    this.#skipBlank();
  }

  /** Kind of the next token. */
  get kind(): number {
    return this.at < this.#end
      ? kinds[this.bytes[this.at] ?? 0] ?? KIND.OTHER
      : KIND.OTHER;
  }

  /** True if nothing follows, and nothing was invalid. */
  get isAtEnd(): boolean {
    return this.at === this.#end && !this.hasFailed;
  }

  /** Enters an object or a list; `nextMember` or `nextItem` reads on until its end. Returns false if the next value is neither. */
  enter(kind: number): boolean {
    if (this.kind !== kind || ++this.#depth > this.#maxDepth) {
      this.#fail();
      return false;
    }
    this.at++;
    this.#isAfterValue = false;
    this.#skipBlank();
    return true;
  }

  /** Goes to the value of the next member of the object; returns false at the end, which it leaves. */
  nextMember(): boolean {
    if (!this.#goOn(KIND.CLOSE_OBJECT)) return false;
    const { bytes, at } = this;
    const end = bytes[at] === QUOTE ? skipString(bytes, at) : NO_TOKEN;
    if (end === NO_TOKEN || end > this.#end) return this.#fail();
    this.nameStart = at + 1;
    this.nameEnd = end - 1;
    this.at = end;
    this.#skipBlank();
    if (bytes[this.at] !== COLON) return this.#fail();
    this.at++;
    this.#skipBlank();
    this.#isAfterValue = false;
    return true;
  }

  /** Goes to the next item of the list; returns false at the end, which it leaves. */
  nextItem(): boolean {
    return this.#goOn(KIND.CLOSE_LIST);
  }

  /** Skips a value; returns the index after it. */
  skip(): number {
    const { kind } = this;
    const isNested = kind === KIND.OPEN_OBJECT || kind === KIND.OPEN_LIST;
    const end = isNested
      ? this.#skipNested()
      : skipScalar(this.bytes, this.at, kind);
    if (end === NO_TOKEN || end > this.#end) {
      this.#fail();
      return this.at;
    }
    this.at = end;
    this.#isAfterValue = true;
    this.#skipBlank();
    return end;
  }

  /** Skips a value whose text is known to be valid, in place of `skip`; returns the index after it. */
  skipKnown(length: number): number {
    this.at += length;
    this.#isAfterValue = true;
    const end = this.at;
    this.#skipBlank();
    return end;
  }

  /** One loop with its state in locals, since most of a text is within such values. */
  #skipNested(): number {
    const { bytes } = this;
    const stop = this.#end;
    const outer = this.#depth;
    let depth = outer;
    let expected = VALUE;
    for (let { at } = this; at < stop;) {
      const byte = bytes[at] ?? 0;
      const kind = kinds[byte] ?? KIND.OTHER;
      if (kind === KIND.STRING) {
        if (expected >= COLON_NEXT) return NO_TOKEN;
        at = skipString(bytes, at);
        if (at === NO_TOKEN) return NO_TOKEN;
        expected = expected >= NAME ? COLON_NEXT : NEXT_OR_END;
      } else if (kind === KIND.NAME_END) {
        if (expected !== COLON_NEXT) return NO_TOKEN;
        expected = VALUE;
        at++;
      } else if (kind === KIND.SEPARATOR) {
        if (expected !== NEXT_OR_END) return NO_TOKEN;
        expected = isObjectAt[depth] === 1 ? NAME : VALUE;
        at++;
      } else if (kind === KIND.OPEN_OBJECT || kind === KIND.OPEN_LIST) {
        if (expected > VALUE_OR_END || ++depth > this.#maxDepth) {
          return NO_TOKEN;
        }
        const isObject = kind === KIND.OPEN_OBJECT;
        isObjectAt[depth] = isObject ? 1 : 0;
        expected = isObject ? NAME_OR_END : VALUE_OR_END;
        at++;
      } else if (kind === KIND.CLOSE_OBJECT || kind === KIND.CLOSE_LIST) {
        const isObject = isObjectAt[depth] === 1;
        const isOwn = isObject === (kind === KIND.CLOSE_OBJECT);
        const empty = isObject ? NAME_OR_END : VALUE_OR_END;
        if (!isOwn || expected !== NEXT_OR_END && expected !== empty) {
          return NO_TOKEN;
        }
        at++;
        if (--depth === outer) return at;
        expected = NEXT_OR_END;
      } else if (kind === KIND.BLANK) {
        this.hasBreaks ||= byte === LINE_FEED || byte === CARRIAGE_RETURN;
        at++;
      } else {
        if (expected > VALUE_OR_END) return NO_TOKEN;
        at = skipScalar(bytes, at, kind);
        if (at === NO_TOKEN) return NO_TOKEN;
        expected = NEXT_OR_END;
      }
    }
    return NO_TOKEN;
  }

  /** Returns the index of the current name in `names`; -1 for another one, and -2 for one that is not written plainly. */
  nameIn(names: readonly Uint8Array[]): number {
    const { bytes, nameStart, nameEnd } = this;
    const length = nameEnd - nameStart;
    for (let index = 0; index < names.length; index++) {
      const name = names[index];
      if (name === undefined || name.length !== length) continue;
      let i = 0;
      while (i < length && name[i] === bytes[nameStart + i]) i++;
      if (i === length) return index;
    }
    for (let at = nameStart; at < nameEnd; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === BACKSLASH || byte > HIGHEST_ASCII) return -2;
    }
    return -1;
  }

  /** Reads the separator before the next value of an object or a list; returns false at its end. */
  #goOn(close: number): boolean {
    if (this.hasFailed) return false;
    if (this.kind === close) {
      this.at++;
      this.#depth--;
      this.#isAfterValue = true;
      this.#skipBlank();
      return false;
    }
    if (this.#isAfterValue) {
      if (this.bytes[this.at] !== COMMA) return this.#fail();
      this.at++;
      this.#skipBlank();
      if (this.kind === close) return this.#fail();
    }
    this.#isAfterValue = false;
    return this.at < this.#end || this.#fail();
  }

  #skipBlank(): void {
    const { bytes } = this;
    for (let { at } = this;; at++) {
      const byte = bytes[at] ?? 0;
      if (at >= this.#end || kinds[byte] !== KIND.BLANK) {
        this.at = at;
        return;
      }
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) this.hasBreaks = true;
    }
  }

  #fail(): false {
    this.hasFailed = true;
    return false;
  }
}
