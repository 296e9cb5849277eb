import { utf8 } from "../../base/bytes.ts";
import { isAt } from "./spans.ts";

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;

/** Fields of events (WHATWG HTML, "Server-sent events"), with the values that an answer may have. */
const fields = (["data", "event", "id", "retry"] as const)
  .map((name) => ({ name, bytes: utf8(name) }));
const MESSAGE = utf8("message");

/** The data of an event: start and end of one line. */
export interface EventSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the data of the first event that has some: `more` if it is not complete, and `undefined` if it is not of the type `message`, or
 * has several lines.
 */
export function findAnswerEvent(
  bytes: Uint8Array,
): EventSpan | "more" | undefined {
  let data: EventSpan | undefined;
  let next = 0;
  while (next < bytes.length) {
    const start = next;
    let end = start;
    while (end < bytes.length && bytes[end] !== LINE_FEED) end++;
    if (end === bytes.length) return "more";
    next = end + 1;
    const last = bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
    if (last <= start) {
      if (data !== undefined && data.end > data.start) return data;
      data = undefined;
      continue;
    }
    const field = fieldOf(bytes, start, last);
    if (field === undefined) return undefined;
    const { name, value } = field;
    if (name === "event" && !isAt(bytes, value, last, MESSAGE)) {
      return undefined;
    }
    if (name !== "data") continue;
    if (data !== undefined) return undefined;
    data = { start: value, end: last };
  }
  return "more";
}

/** Returns the name of the field of a line, empty for a comment, and where its value begins; `undefined` for an unknown field. */
function fieldOf(bytes: Uint8Array, start: number, end: number) {
  let colon = start;
  while (colon < end && bytes[colon] !== COLON) colon++;
  const name = colon === start
    ? ""
    : fields.find((each) => isAt(bytes, start, colon, each.bytes))?.name;
  const value = bytes[colon + 1] === SPACE ? colon + 2 : colon + 1;
  return name === undefined ? undefined : { name, value };
}
