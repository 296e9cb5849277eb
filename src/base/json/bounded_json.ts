import { parseJson } from "../json.ts";
import { KIND, kinds } from "./json_tokens.ts";

const BACKSLASH = 0x5c;

/** Parses texts of strangers that have a limited number of values together: `JSON.parse` takes 100 ms for a million, in one turn. */
export class BoundedJson {
  #left: number;

  constructor(maxValues: number) {
    this.#left = maxValues;
  }

  /** Parses one text, which is not even looked at if it is too short for so many values. */
  static parse(text: string, maxValues: number): unknown {
    return text.length < maxValues
      ? parseJson(text)
      : new BoundedJson(maxValues).parse(text);
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
    const kind = kinds[code];
    if (kind === KIND.STRING) inString = !inString;
    else if (inString) {
      if (code === BACKSLASH) at++;
    } else if (
      kind === KIND.SEPARATOR || kind === KIND.OPEN_LIST ||
      kind === KIND.OPEN_OBJECT
    ) count++;
  }
  return count;
}
