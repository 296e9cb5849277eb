import { parseJson } from "../json.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;

/** Parses texts of strangers that have a limited number of values together: `JSON.parse` takes 100 ms for a million, in one turn. */
export class BoundedJson {
  #left: number;

  constructor(maxValues: number) {
    this.#left = maxValues;
  }

  /** Parses a text; returns `undefined` when it is invalid, or the values have reached the limit. */
  parse(text: string): unknown {
    this.#left -= countValues(text, this.#left);
    return this.#left < 0 ? undefined : parseJson(text);
  }
}

/** Counts the values of a JSON text, but at most to one more than `limit`; an empty list counts as two. */
function countValues(text: string, limit: number): number {
  let count = 1;
  let inString = false;
  for (let at = 0; at < text.length && count <= limit; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) inString = !inString;
    else if (inString) {
      if (code === BACKSLASH) at++;
    } else if (
      code === COMMA || code === OPEN_LIST || code === OPEN_OBJECT
    ) count++;
  }
  return count;
}
