/** Server-sent events (WHATWG HTML, "Server-sent events"): an empty line ends an event; CRLF, LF or CR end a line. */
import { Buffer } from "node:buffer";
import { GrowingBuffer } from "../bytes.ts";

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const BLANK = 0x20;
/** Length of the longest end of an event: CRLF CRLF. */
const LONGEST_END = 4;
/** Limit of lines per event. */
const MAX_LINES = 10_000;
const nothing = new Uint8Array();

/** Cuts a stream into complete events, in any chunking. Readers bound `pending`: an event may have any length. */
export class EventStream {
  readonly #buffer = new GrowingBuffer();
  /** Bytes of the buffer that were returned. */
  #returned = 0;

  /** Bytes that are kept, as no event ends with them. */
  get pending(): number {
    return this.#buffer.length - this.#returned;
  }

  /** Takes the next bytes, and returns the events that are complete with them, in one or two parts; valid until the next call. */
  push(bytes: Uint8Array): readonly Uint8Array[] {
    this.#discard();
    const buffer = this.#buffer;
    const known = buffer.length;
    // Only split events are copied; most are read in place.
    const first = known === 0 ? 0 : findEventEnd(bytes, 0);
    const last = lastEventEnd(bytes, 0, bytes.length);
    if (first < 0 || last < 0) {
      buffer.append(bytes);
      const from = Math.max(0, known - LONGEST_END);
      const end = lastEventEnd(buffer.view, from, buffer.length);
      return this.#return(Math.max(0, end));
    }
    buffer.append(bytes.subarray(0, first));
    const parts = [...this.#return(first === 0 ? 0 : buffer.length)];
    if (last > first) parts.push(bytes.subarray(first, last));
    buffer.append(bytes.subarray(last));
    return parts;
  }

  /** Returns the beginning of an event that has no end yet; the next event that `push` returns begins with the rest of it. */
  takePart(): Uint8Array {
    this.#discard();
    // Half of the end may have arrived.
    const [part = nothing] = this.#return(
      Math.max(0, this.#buffer.length - LONGEST_END),
    );
    return part;
  }

  /** Returns the last event, which nothing ends: many clients read it. */
  finish(): Uint8Array {
    this.#discard();
    return this.#buffer.take();
  }

  #return(length: number): readonly Uint8Array[] {
    this.#returned = length;
    return length === 0 ? [] : [this.#buffer.view.subarray(0, length)];
  }

  #discard(): void {
    this.#buffer.discard(this.#returned);
    this.#returned = 0;
  }
}

/** Returns the events one after the other; the last one may have no end. */
export function* eventsOf(events: Uint8Array): Generator<Uint8Array, void> {
  let start = 0;
  while (start < events.length) {
    const end = firstEventEnd(events, start);
    yield events.subarray(start, end);
    start = end;
  }
}

/** Returns the index after the first event that ends after `from`, which is that of all bytes if none does. */
export function firstEventEnd(bytes: Uint8Array, from: number): number {
  const end = findEventEnd(bytes, from);
  return end < 0 ? bytes.length : end;
}

/** Returns -1 if no event ends. */
function findEventEnd(bytes: Uint8Array, from: number): number {
  for (let i = Math.max(from, 1); i < bytes.length; i++) {
    if (isEventEnd(bytes, i)) return i + 1;
  }
  return -1;
}

/** Returns the event around `index`, which starts at or after `from`. */
export function eventAround(
  bytes: Uint8Array,
  index: number,
  from: number,
): { readonly start: number; readonly end: number } {
  const start = Math.max(from, lastEventEnd(bytes, from, index));
  return { start, end: firstEventEnd(bytes, index) };
}

/**
 * Returns the index after the last event that ends in `bytes[from, to)`, or -1.
 *
 * A trailing CR counts only when it cannot be half of a significant CRLF.
 */
function lastEventEnd(bytes: Uint8Array, from: number, to: number): number {
  for (let i = to - 1; i > from; i--) {
    if (isEventEnd(bytes, i)) return i + 1;
  }
  return -1;
}

/** Reports whether the byte at `index` ends an empty line after another line. */
function isEventEnd(bytes: Uint8Array, index: number): boolean {
  const byte = bytes[index];
  if (byte !== LF && byte !== CR) return false;
  const before = bytes[index - 1];
  if (byte === LF) {
    if (before === LF) return true;
    return before === CR && isLineEnd(bytes[index - 2]);
  }
  if (before === CR) return true;
  // After LF this may be the first half of a CRLF.
  return before === LF && index + 1 < bytes.length && bytes[index + 1] !== LF;
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR;
}

/** An event as clients read it. */
export interface ServerSentEvent {
  /** Lines of data, joined; empty without any, and `undefined` when there are too many lines. */
  readonly data: Uint8Array | undefined;
  /** `undefined` for a message. */
  readonly type: string | undefined;
  /** There is nothing but comments, with which servers keep a stream open. */
  readonly isComment: boolean;
  /** Returns the event with other data and the same other lines. */
  replaceData(data: Uint8Array): Uint8Array;
}

interface Line {
  readonly name: string;
  readonly value: Uint8Array;
  /** The line with what ends it. */
  readonly bytes: Uint8Array;
  /** End of the line. */
  readonly end: Uint8Array;
}

/** Reads one event. @param isFirst The event is the first of its stream, which may begin with a byte order mark. */
export function readEvent(
  event: Uint8Array,
  isFirst = false,
): ServerSentEvent {
  const lines = linesOf(event, isFirst ? markLength(event) : 0);
  const values = lines.filter(isData).map(({ value }) => value);
  const [only = nothing, ...more] = values;
  const type = lines.findLast(({ name }) => name === "event")?.value;
  return {
    data: lines.length > MAX_LINES
      ? undefined
      : more.length === 0
      ? only
      : joinLines(values),
    type: type === undefined || type.length === 0
      ? undefined
      : Buffer.from(type).toString("latin1"),
    isComment: lines.every(({ name }) => name === ""),
    replaceData: (data) => {
      const first = lines.findIndex(isData);
      return Buffer.concat(lines.flatMap((line, index) => {
        if (!isData(line)) return [line.bytes];
        return index === first ? [...dataLines(data), line.end] : [];
      }));
    },
  };
}

/** Drops a byte order mark at the start, like clients. */
const decoder = new TextDecoder();
const lineEnd = /\r\n|\n|\r/;

/** Returns the data of an event as text: `"{\"id\":1}"`. Streams are counted by it, so it splits text, which is faster than bytes. */
export function readEventData(event: Uint8Array): string {
  const data: string[] = [];
  for (const line of decoder.decode(event).split(lineEnd)) {
    if (line.startsWith("data:")) data.push(line.slice(5));
  }
  return data.join("\n");
}

const byteOrderMark = [0xef, 0xbb, 0xbf];

function markLength(event: Uint8Array): number {
  return byteOrderMark.every((byte, index) => event[index] === byte)
    ? byteOrderMark.length
    : 0;
}

function isData({ name }: Line): boolean {
  return name === "data";
}

function linesOf(event: Uint8Array, from: number): readonly Line[] {
  const lines: Line[] = [];
  let start = 0;
  let content = from;
  while (start < event.length && lines.length <= MAX_LINES) {
    let end = content;
    while (end < event.length && event[end] !== LF && event[end] !== CR) end++;
    const isPair = event[end] === CR && event[end + 1] === LF;
    const next = Math.min(event.length, end + (isPair ? 2 : 1));
    lines.push({
      ...fieldOf(event.subarray(content, end)),
      bytes: event.subarray(start, next),
      end: event.subarray(end, next),
    });
    start = next;
    content = next;
  }
  return lines;
}

function fieldOf(line: Uint8Array): Pick<Line, "name" | "value"> {
  const colon = line.indexOf(COLON);
  const end = colon < 0 ? line.length : colon;
  const value = line.subarray(end + 1);
  return {
    // Longer names are those of no field.
    name: Buffer.from(line.subarray(0, Math.min(end, 8))).toString("latin1"),
    value: value[0] === BLANK ? value.subarray(1) : value,
  };
}

function joinLines(lines: readonly Uint8Array[]): Uint8Array {
  const feed = Uint8Array.of(LF);
  return Buffer.concat(
    lines.flatMap((line, index) => index === 0 ? [line] : [feed, line]),
  );
}

function dataLines(data: Uint8Array): readonly Uint8Array[] {
  const prefix = Buffer.from("data: ");
  const parts: Uint8Array[] = [prefix];
  let start = 0;
  for (let at = data.indexOf(LF); at >= 0; at = data.indexOf(LF, start)) {
    parts.push(data.subarray(start, at + 1), prefix);
    start = at + 1;
  }
  return [...parts, data.subarray(start)];
}
