import { Buffer } from "node:buffer";
import { parseJson } from "../../base/json.ts";

/** Receives the findings of a `JsonScanner`; offsets count bytes from the beginning of the input. */
export interface JsonVisitor {
  /** An object on the path to a wanted value was opened; `offset` is after its brace. The path of the document is empty. */
  open?(path: string, offset: number): void;
  /** A wanted value is complete: `text` is its JSON including surrounding whitespace. */
  member(path: string, text: string): void;
  /** A document ended; `offset` is after its last brace. */
  end?(offset: number): void;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const COMMA = 0x2c;
const COLON = 0x3a;
const MAX_KEY_LENGTH = 128;
const MAX_VALUE_BYTES = 16 * 1024;

/** 1: opening bracket, 2: closing bracket, 3: other structural bytes. */
const kinds = new Uint8Array(256);
for (const byte of [OPEN_BRACE, OPEN_BRACKET]) kinds[byte] = 1;
for (const byte of [0x7d, 0x5d]) kinds[byte] = 2;
for (const byte of [QUOTE, COMMA, COLON]) kinds[byte] = 3;

/**
 * Finds a few values in chunked JSON, without buffering the rest.
 *
 * Paths have the form `response.usage`. Documents may be concatenated (NDJSON) or elements of an array (Gemini without SSE).
 * It only recognizes brackets and strings and does not validate; the visitor has to parse values. Omits values over 16 KiB.
 */
export class JsonScanner {
  readonly #wanted: ReadonlySet<string>;
  readonly #parents: ReadonlySet<string>;
  readonly #visitor: JsonVisitor;
  /** Number of bytes before this push. */
  #before = 0;
  #depth = 0;
  /** Depth that contains the documents: 1 in an array, else 0. */
  #base = 0;
  /** Depth of the innermost open object on the path to a wanted value; 0 outside of documents. */
  #level = 0;
  readonly #prefixes: string[] = [];
  #string: "none" | "key" | "other" = "none";
  #isEscaped = false;
  #expectsKey = false;
  #key = "";
  /** Path of the current value at `#level`. */
  #path: string | undefined;
  #isTaking = false;
  #value = "";

  constructor(wanted: ReadonlySet<string>, visitor: JsonVisitor) {
    this.#wanted = wanted;
    this.#parents = parentsOf(wanted);
    this.#visitor = visitor;
  }

  push(bytes: Uint8Array): void {
    const buffer = Buffer.from(
      bytes.buffer,
      bytes.byteOffset,
      bytes.byteLength,
    );
    let pieceStart = 0;
    for (let i = 0; i < bytes.length; i++) {
      if (this.#string !== "none") {
        const wasKey = this.#string === "key";
        const from = i;
        i = this.#skipString(bytes, i);
        if (wasKey) this.#addToKey(buffer, from, i);
        continue;
      }
      while (i < bytes.length && kinds[bytes[i] ?? 0] === 0) i++;
      if (i === bytes.length) break;
      const byte = bytes[i] ?? 0;
      const kind = kinds[byte];
      if (kind === 1) {
        this.#open(byte, i);
      } else if (kind === 2) {
        if (this.#depth === this.#level) this.#endValue(buffer, pieceStart, i);
        this.#close(i);
      } else if (byte === QUOTE) {
        this.#openString();
      } else if (this.#depth === this.#level && this.#level > 0) {
        if (byte === COLON) {
          if (this.#startValue()) pieceStart = i + 1;
        } else {
          this.#endValue(buffer, pieceStart, i);
          this.#expectsKey = true;
        }
      }
    }
    if (this.#isTaking) this.#addToValue(buffer, pieceStart, bytes.length);
    this.#before += bytes.length;
  }

  /** Returns the index of the quote that ends the string, or the end of the bytes. */
  #skipString(bytes: Uint8Array, start: number): number {
    let i = start;
    if (this.#isEscaped && i < bytes.length) {
      this.#isEscaped = false;
      i++;
    }
    for (; i < bytes.length; i++) {
      const byte = bytes[i];
      if (byte === QUOTE) {
        this.#string = "none";
        return i;
      }
      if (byte === BACKSLASH && ++i === bytes.length) this.#isEscaped = true;
    }
    return bytes.length;
  }

  #openString(): void {
    const isKey = this.#expectsKey && this.#depth === this.#level;
    this.#string = isKey ? "key" : "other";
    if (isKey) this.#key = "";
  }

  #addToKey(buffer: Buffer, start: number, end: number): void {
    if (this.#key.length > MAX_KEY_LENGTH) return;
    const stop = Math.min(end, start + MAX_KEY_LENGTH + 1);
    this.#key += buffer.toString("latin1", start, stop);
  }

  #open(byte: number, index: number): void {
    const outer = this.#depth++;
    if (outer === this.#base && this.#level === 0) {
      if (byte === OPEN_BRACE) this.#enter("", index);
      else this.#base = 1;
      return;
    }
    const path = this.#path;
    if (
      outer !== this.#level || byte !== OPEN_BRACE || path === undefined ||
      !this.#parents.has(path)
    ) return;
    this.#stopTaking();
    this.#enter(path, index);
  }

  #enter(path: string, index: number): void {
    this.#level = this.#depth;
    this.#prefixes.push(path === "" ? "" : `${path}.`);
    this.#expectsKey = true;
    this.#path = undefined;
    this.#visitor.open?.(path, this.#before + index + 1);
  }

  #close(index: number): void {
    if (this.#depth === 0) return;
    if (this.#depth === this.#level) this.#leave(index);
    this.#depth--;
    if (this.#depth === 0) this.#base = 0;
  }

  #leave(index: number): void {
    this.#prefixes.pop();
    this.#expectsKey = false;
    if (this.#prefixes.length > 0) {
      this.#level--;
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
    this.#isTaking = this.#wanted.has(path);
    this.#value = "";
    return this.#isTaking;
  }

  #addToValue(buffer: Buffer, start: number, end: number): void {
    if (this.#value.length + end - start > MAX_VALUE_BYTES) {
      this.#stopTaking();
      return;
    }
    this.#value += buffer.toString("latin1", start, end);
  }

  #stopTaking(): void {
    this.#isTaking = false;
    this.#value = "";
  }

  #endValue(buffer: Buffer, start: number, end: number): void {
    const path = this.#path;
    if (this.#isTaking) this.#addToValue(buffer, start, end);
    this.#path = undefined;
    if (path === undefined || !this.#isTaking) return;
    const text = Buffer.from(this.#value, "latin1").toString();
    this.#visitor.member(path, text);
    this.#stopTaking();
  }
}

/** Returns the paths of objects to enter: `response` for `response.usage`. */
function parentsOf(wanted: ReadonlySet<string>): ReadonlySet<string> {
  const parents = [...wanted].flatMap((path) => {
    const keys = path.split(".");
    return keys.slice(1).map((_, index) => keys.slice(0, index + 1).join("."));
  });
  return new Set(parents);
}

function unescapeKey(key: string): string {
  if (!key.includes("\\")) return key;
  const unescaped = parseJson(`"${key}"`);
  return typeof unescaped === "string" ? unescaped : key;
}
