import { Buffer } from "node:buffer";

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const BLANK = 0x20;

/** An event of a stream, as clients read it (WHATWG HTML, "Server-sent events"). */
export interface EventData {
  /** The data lines, joined; `undefined` when there are too many to be read. */
  readonly data: Uint8Array | undefined;
  /** True if clients read the data as a message: the event has no other type. */
  readonly isMessage: boolean;
  /** Returns the event with other data and the same other lines. */
  replaceData(data: Uint8Array): Uint8Array;
}

/** Limit of lines per event. */
const MAX_LINES = 10_000;

interface Line {
  readonly name: string;
  readonly value: Uint8Array;
  /** The line with what ends it. */
  readonly bytes: Uint8Array;
  /** End of the line. */
  readonly end: Uint8Array;
}

/** Parses one event. @param isFirst The event is the first of its stream, which may begin with a byte order mark. */
export function parseEvent(event: Uint8Array, isFirst: boolean): EventData {
  const lines = linesOf(
    event,
    isFirst && hasMark(event) ? byteOrderMark.length : 0,
  );
  const values = lines.filter(isData).map(({ value }) => value);
  const [only = new Uint8Array(), ...more] = values;
  const type = lines.findLast(({ name }) => name === "event")?.value;
  return {
    data: lines.length > MAX_LINES
      ? undefined
      : more.length === 0
      ? only
      : joinLines(values),
    isMessage: type === undefined || type.length === 0 ||
      Buffer.from(type).toString("latin1") === "message",
    replaceData: (data) => {
      const first = lines.findIndex(isData);
      return Buffer.concat(lines.flatMap((line, index) => {
        if (!isData(line)) return [line.bytes];
        return index === first ? [...dataLines(data), line.end] : [];
      }));
    },
  };
}

const byteOrderMark = [0xef, 0xbb, 0xbf];

function hasMark(event: Uint8Array): boolean {
  return byteOrderMark.every((byte, index) => event[index] === byte);
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
