import { isUtf8 } from "node:buffer";
import { latin1 } from "../../base/bytes.ts";

/** Longer texts are read anew each time. */
const MAX_KEPT = 2048;
/** Integers of so few digits are exact. */
const MAX_DIGITS = 15;

/** The text that was read last at a place of messages: a peer sends the same one again and again. */
export class LatestText {
  /** One character per byte; empty before the first. */
  text = "";
  #bytes = new Uint8Array();

  /** Returns the text of a span, one character per byte: the same string for the same bytes. */
  read(source: Uint8Array, start: number, end: number): string {
    if (isAt(source, start, end, this.#bytes)) return this.text;
    // A copy, which `slice` of a `Buffer` would not return.
    const bytes = new Uint8Array(source.subarray(start, end));
    const text = latin1(bytes);
    if (bytes.length > MAX_KEPT) return text;
    this.#bytes = bytes;
    return this.text = text;
  }

  /** Reports whether the text, if there is one, stands at an index. */
  beginsAt(source: Uint8Array, start: number): boolean {
    const { length } = this.#bytes;
    return length > 0 && isAt(source, start, start + length, this.#bytes);
  }
}

/** Returns the text of a span, one character per byte. */
export function textOf(bytes: Uint8Array, start: number, end: number): string {
  return latin1(bytes.subarray(start, end));
}

/** Reports whether a span is valid UTF-8; nearly all short ones are ASCII, which is found sooner. */
export function isText(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  while (at < end && (bytes[at] ?? 0) < 0x80) at++;
  return at === end || isUtf8(bytes.subarray(at, end));
}

/** Reports whether a span has other bytes. */
export function isAt(
  bytes: Uint8Array,
  start: number,
  end: number,
  expected: Uint8Array,
): boolean {
  const { length } = expected;
  if (end - start !== length) return false;
  for (let i = 0; i < length; i++) {
    if (bytes[start + i] !== expected[i]) return false;
  }
  return true;
}

/** Reads an integer of digits only; -1 for any other span, also a long one. */
export function readInteger(
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  if (end === start || end - start > MAX_DIGITS) return -1;
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}
