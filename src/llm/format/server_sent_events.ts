// Events as in WHATWG HTML, "Server-sent events": one ends with an empty line, a line ends with CRLF, LF or CR.
const LF = 0x0a;
const CR = 0x0d;
// Decoding drops a byte order mark at the start, as a client does.
const decoder = new TextDecoder();

/** Bytes of the longest end of an event: CRLF CRLF. */
export const LONGEST_EVENT_END = 4;

/**
 * Index after the last event that ends in `bytes[from, to)`, or -1.
 *
 * A CR at the very end counts only when it cannot be half of a CRLF that matters.
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

/** Index after the first event that ends at or after `from`, or -1. */
export function firstEventEnd(bytes: Uint8Array, from: number): number {
  for (let i = Math.max(from, 1); i < bytes.length; i++) {
    if (isEventEnd(bytes, i)) return i + 1;
  }
  return -1;
}

/** Whether the byte at `index` ends an empty line that follows another line. */
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

/** The lines of data of one event, joined: `"{\"id\":1}"`. */
export function readEventData(event: Uint8Array): string {
  const lines = decoder.decode(event).split(/\r\n|\n|\r/);
  const data: string[] = [];
  for (const line of lines) {
    if (line.startsWith("data:")) data.push(line.slice(5));
  }
  return data.join("\n");
}
