import { latin1 } from "../../base/bytes.ts";

/** The text in every way that it may be written where it is quoted: in a body, inside of JSON, in a URL. */
export function formsOf(text: string): ReadonlySet<string> {
  const read = fromUtf8(text);
  return new Set([
    ...[text, utf8(text), escaped(text), encoded(text)],
    ...[read, escaped(read), encoded(read)],
  ]);
}

/** As the text looks in a body, one character for each byte. */
function utf8(text: string): string {
  return latin1(new TextEncoder().encode(text));
}

/** Values of fields have one character for each byte; the text that these bytes are, or as it was where they are none. */
export function fromUtf8(value: string): string {
  if (!beyondAscii.test(value)) return value;
  try {
    const bytes = Uint8Array.from(value, (byte) => {
      const code = byte.charCodeAt(0);
      if (code > 0xff) throw new RangeError("it is no byte");
      return code;
    });
    return decoder.decode(bytes);
  } catch {
    // Latin-1, or text already.
    return value;
  }
}

const beyondAscii = /[\x80-\uffff]/;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** As the text looks inside a text of JSON. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** As the text looks in a URL; a text that cannot stand there is as it was. */
function encoded(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : text;
}
