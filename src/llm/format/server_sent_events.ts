// WHATWG HTML, "Server-sent events": an empty line ends an event; CRLF, LF or CR end a line.
const LF = 0x0a;
const CR = 0x0d;
// Drops a byte order mark at the start, like clients.
const decoder = new TextDecoder();

/** Length of the longest event terminator: CRLF CRLF. */
export const LONGEST_EVENT_END = 4;

/**
 * Returns the index after the last event that ends in `bytes[from, to)`, or -1.
 *
 * A trailing CR counts only when it cannot be half of a significant CRLF.
 */
export function lastEventEnd(
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  for (let i = to - 1; i > from; i--) {
    if (isEventEnd(bytes, i)) return i + 1;
  }
  return -1;
}

/** Returns the index after the first event that ends at or after `from`, or -1. */
export function firstEventEnd(bytes: Uint8Array, from: number): number {
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
  const end = firstEventEnd(bytes, index);
  return { start, end: end > 0 ? end : bytes.length };
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

/** Joins the data lines of an event: `"{\"id\":1}"`. */
export function readEventData(event: Uint8Array): string {
  const lines = decoder.decode(event).split(/\r\n|\n|\r/);
  const data: string[] = [];
  for (const line of lines) {
    if (line.startsWith("data:")) data.push(line.slice(5));
  }
  return data.join("\n");
}
