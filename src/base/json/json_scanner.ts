import { Buffer } from "node:buffer";
import { latin1 } from "../bytes.ts";
import { parseJson } from "../json.ts";
import { KIND, kinds } from "./json_tokens.ts";

/** Receives the findings of a `JsonScanner`; offsets count bytes from the beginning of the input. */
export interface JsonVisitor {
  /** An object on the path to a wanted value was opened; `offset` is after its brace. The path of the document is empty. */
  open?(path: string, offset: number): void;
  /** A wanted value is complete: `text` is its JSON including surrounding whitespace. */
  member(path: string, text: string): void;
  /** An object in a list on the path to a wanted value ended: `outputs[]`. */
  item?(path: string): void;
  /** A document ended; `offset` is after its last brace. */
  end?(offset: number): void;
}

const BACKSLASH = 0x5c;
const MAX_KEY_LENGTH = 128;
const MAX_VALUE_BYTES = 16 * 1024;

/** Kinds of the tokens that it recognizes, by their character; 0 for all others, such as those of numbers. */
const marks = kinds.map((kind) =>
  kind === KIND.STRING || kind >= KIND.OPEN_OBJECT ? kind : 0
);

/** Paths of wanted values, in the form `response.usage`, or `outputs[].usage` for those in the objects of a list. */
export class JsonPaths {
  readonly #wanted: ReadonlySet<string>;
  /** Paths of the objects to enter: `response` for `response.usage`. */
  readonly #parents: ReadonlySet<string>;

  constructor(wanted: readonly string[]) {
    this.#wanted = new Set(wanted);
    this.#parents = new Set(wanted.flatMap(parentsOf));
  }

  /** Reports whether the value at the path is wanted. */
  has(path: string): boolean {
    return this.#wanted.has(path);
  }

  /** Reports whether a wanted value may be inside of the value at the path. */
  leadThrough(path: string): boolean {
    return this.#parents.has(path);
  }
}

/**
 * Finds a few values in chunked JSON, without buffering the rest.
 *
 * Documents may be concatenated (NDJSON) or elements of an array (Gemini without SSE).
 * It only recognizes brackets and strings and does not validate; the visitor has to parse values. Omits values over 16 KiB.
 */
export class JsonScanner {
  readonly #paths: JsonPaths;
  readonly #visitor: JsonVisitor;
  /** Number of bytes before this push. */
  #before = 0;
  #depth = 0;
  /** Depth that contains the documents: 1 in an array, else 0. */
  #base = 0;
  /** Depth of the innermost open object on the path to a wanted value; 0 outside of documents. */
  #level = 0;
  readonly #prefixes: string[] = [];
  /** Path of the items of each list that is open on the path to a wanted value; `undefined` for objects. */
  readonly #lists: (string | undefined)[] = [];
  #string: "none" | "key" | "other" = "none";
  #isEscaped = false;
  #expectsKey = false;
  #key = "";
  /** Path of the current value at `#level`. */
  #path: string | undefined;
  #isTaking = false;
  #value = "";

  constructor(paths: JsonPaths, visitor: JsonVisitor) {
    this.#paths = paths;
    this.#visitor = visitor;
  }

  push(bytes: Uint8Array): void {
    // One character per byte: V8 searches and slices strings faster than JavaScript does bytes.
    const text = latin1(bytes);
    const { length } = text;
    let pieceStart = 0;
    for (let i = 0; i < length; i++) {
      if (this.#string !== "none") {
        const wasKey = this.#string === "key";
        const from = i;
        i = this.#skipString(text, i);
        if (wasKey) this.#addToKey(text, from, i);
        continue;
      }
      while (i < length && marks[text.charCodeAt(i)] === 0) i++;
      if (i === length) break;
      const kind = marks[text.charCodeAt(i)];
      if (kind === KIND.OPEN_OBJECT || kind === KIND.OPEN_LIST) {
        this.#open(kind === KIND.OPEN_OBJECT, i);
      } else if (kind === KIND.CLOSE_OBJECT || kind === KIND.CLOSE_LIST) {
        if (this.#depth === this.#level) this.#endValue(text, pieceStart, i);
        this.#close(i);
      } else if (kind === KIND.STRING) {
        this.#openString();
      } else if (this.#depth === this.#level && this.#level > 0) {
        if (kind === KIND.NAME_END) {
          if (this.#startValue()) pieceStart = i + 1;
        } else {
          this.#endValue(text, pieceStart, i);
          this.#path = this.#lists.at(-1);
          this.#expectsKey = this.#path === undefined;
        }
      }
    }
    if (this.#isTaking) this.#addToValue(text, pieceStart, length);
    this.#before += length;
  }

  /** Returns the index of the quote that ends the string, or the end of the text. */
  #skipString(text: string, start: number): number {
    const from = this.#isEscaped ? start + 1 : start;
    this.#isEscaped = false;
    let quote = text.indexOf('"', from);
    while (quote >= 0 && endsInEscape(text, from, quote)) {
      quote = text.indexOf('"', quote + 1);
    }
    if (quote >= 0) {
      this.#string = "none";
      return quote;
    }
    this.#isEscaped = endsInEscape(text, from, text.length);
    return text.length;
  }

  #openString(): void {
    const isKey = this.#expectsKey && this.#depth === this.#level;
    this.#string = isKey ? "key" : "other";
    if (isKey) this.#key = "";
  }

  #addToKey(text: string, start: number, end: number): void {
    if (this.#key.length > MAX_KEY_LENGTH) return;
    const stop = Math.min(end, start + MAX_KEY_LENGTH + 1);
    this.#key += text.slice(start, stop);
  }

  #open(isObject: boolean, index: number): void {
    const outer = this.#depth++;
    if (outer === this.#base && this.#level === 0) {
      if (isObject) this.#enter("", index);
      else this.#base = 1;
      return;
    }
    if (outer !== this.#level || this.#path === undefined) return;
    const path = isObject ? this.#path : `${this.#path}[]`;
    if (!this.#paths.leadThrough(path)) return;
    this.#stopTaking();
    if (isObject) this.#enter(path, index);
    else this.#enterList(path);
  }

  #enter(path: string, index: number): void {
    this.#level = this.#depth;
    this.#prefixes.push(path === "" ? "" : `${path}.`);
    this.#lists.push(undefined);
    this.#expectsKey = true;
    this.#path = undefined;
    this.#visitor.open?.(path, this.#before + index + 1);
  }

  #enterList(path: string): void {
    this.#level = this.#depth;
    this.#prefixes.push(path);
    this.#lists.push(path);
    this.#path = path;
  }

  #close(index: number): void {
    if (this.#depth === 0) return;
    if (this.#depth === this.#level) this.#leave(index);
    this.#depth--;
    if (this.#depth === 0) this.#base = 0;
  }

  #leave(index: number): void {
    this.#prefixes.pop();
    const wasList = this.#lists.pop() !== undefined;
    const list = this.#lists.at(-1);
    this.#expectsKey = false;
    if (this.#prefixes.length > 0) {
      this.#level--;
      if (list !== undefined && !wasList) this.#visitor.item?.(list);
      return;
    }
    this.#level = 0;
    this.#visitor.end?.(this.#before + index + 1);
  }

  /** Begins the value after a colon; reports whether it is wanted. */
  #startValue(): boolean {
    if (!this.#expectsKey) return false;
    this.#expectsKey = false;
    const path = `${this.#prefixes.at(-1) ?? ""}${unescapeKey(this.#key)}`;
    this.#key = "";
    this.#path = path;
    this.#isTaking = this.#paths.has(path);
    this.#value = "";
    return this.#isTaking;
  }

  #addToValue(text: string, start: number, end: number): void {
    if (this.#value.length + end - start > MAX_VALUE_BYTES) {
      this.#stopTaking();
      return;
    }
    this.#value += text.slice(start, end);
  }

  #stopTaking(): void {
    this.#isTaking = false;
    this.#value = "";
  }

  #endValue(text: string, start: number, end: number): void {
    const path = this.#path;
    if (this.#isTaking) this.#addToValue(text, start, end);
    this.#path = undefined;
    if (path === undefined || !this.#isTaking) return;
    this.#visitor.member(path, fromUtf8(this.#value));
    this.#stopTaking();
  }
}

/** Returns `["a", "a.b"]` for `a.b.c`. */
function parentsOf(path: string): string[] {
  const keys = path.split(".");
  return keys.slice(1).map((_, index) => keys.slice(0, index + 1).join("."));
}

/** Reports whether the last character of a string's `text[from, end)` escapes the next one. */
function endsInEscape(text: string, from: number, end: number): boolean {
  let start = end;
  while (start > from && text.charCodeAt(start - 1) === BACKSLASH) start--;
  return (end - start) % 2 === 1;
}

const ascii = /^[\0-\x7f]*$/;

/** Decodes UTF-8 whose bytes are the characters of `text`. */
function fromUtf8(text: string): string {
  return ascii.test(text) ? text : Buffer.from(text, "latin1").toString();
}

function unescapeKey(key: string): string {
  if (!key.includes("\\")) return key;
  const unescaped = parseJson(`"${key}"`);
  return typeof unescaped === "string" ? unescaped : key;
}
