import { isJsonObject, parseJson } from "../../base/json.ts";
import { GrowingBuffer, latin1 } from "../../base/bytes.ts";
import { ByteSearch } from "../../base/wire/byte_search.ts";
import {
  eventAround,
  EventStream,
  readEventData,
} from "../../base/wire/event_stream.ts";

/** A longer event and everything after it is forwarded unchanged. */
const MAX_EVENT_BYTES = 1024 * 1024;
const usageKey = new ByteSearch('"usage');
const COMMA = 0x2c;
const CLOSE_BRACE = 0x7d;
const LF = 0x0a;
const CR = 0x0d;

/**
 * Removes usage from an OpenAI chat stream that `withIncludeUsage` requested and the client did not.
 *
 * Drops the chunk with usage and without choices, and removes `"usage":null` from the others. All other bytes are kept.
 */
export class UsageChunkFilter {
  readonly #stream = new EventStream();
  readonly #passed = new GrowingBuffer();
  #hasGivenUp = false;

  /** Returns the next bytes for the client: all complete events. May be empty; valid until the next call. */
  push(bytes: Uint8Array): Uint8Array {
    if (this.#hasGivenUp) return bytes;
    this.#passed.discard(this.#passed.length);
    for (const events of this.#stream.push(bytes)) this.#filter(events);
    this.#hasGivenUp = this.#stream.pending > MAX_EVENT_BYTES;
    if (this.#hasGivenUp) this.#passed.append(this.#stream.finish());
    return this.#passed.view;
  }

  /** Returns the rest at the end of the stream. */
  finish(): Uint8Array {
    this.#passed.discard(this.#passed.length);
    this.#filter(this.#stream.finish());
    return this.#passed.view;
  }

  #filter(events: Uint8Array): void {
    let passed = 0;
    /** End of the last parsed event: a string may contain the key a thousand times. */
    let parsedTo = 0;
    const keys = usageKey.findAll(events);
    let key = keys.next(0);
    while (key >= 0) {
      let cut = findNullMember(events, key);
      if (cut === undefined && key >= parsedTo) {
        const event = eventAround(events, key, passed);
        parsedTo = event.end;
        if (isUsageChunk(events.subarray(event.start, event.end))) cut = event;
      }
      if (cut !== undefined) {
        this.#passed.append(events.subarray(passed, cut.start));
        passed = cut.end;
      }
      key = keys.next(cut?.end ?? key + 1);
    }
    this.#passed.append(events.subarray(passed));
  }
}

interface Cut {
  readonly start: number;
  readonly end: number;
}

/** Finds `,"usage":null` with the key at `key` if it is a member of the chunk itself. */
function findNullMember(events: Uint8Array, key: number): Cut | undefined {
  const comma = skipBlanksBack(events, key - 1);
  if (events[comma] !== COMMA) return undefined;
  const after = events.subarray(key, key + MAX_REST_BYTES);
  // OpenAI and others write no whitespace: checking the next byte is enough.
  const end = startsWith(after, compactNull) ? compactNull.length : undefined;
  if (end !== undefined && isEndOfChunk(after, end)) {
    return { start: comma, end: key + end };
  }
  const [, member] = nullMember.exec(latin1(after)) ?? [];
  return member === undefined
    ? undefined
    : { start: comma, end: key + member.length };
}

const compactNull = new TextEncoder().encode('"usage":null');
const MAX_REST_BYTES = 512;
/** Only flat members and one brace may follow on the line, so that the brace is that of the chunk. */
const nullMember =
  /^("usage"\s*:\s*null)(?:\s*,\s*"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[-+.\w]+))*[ \t]*\}[ \t]*(?:[\r\n]|$)/;

function isEndOfChunk(bytes: Uint8Array, index: number): boolean {
  const next = bytes[index + 1];
  return bytes[index] === CLOSE_BRACE && (next === LF || next === CR);
}

/** Reports whether an event contains only usage. */
function isUsageChunk(event: Uint8Array): boolean {
  const chunk = parseJson(readEventData(event));
  if (!isJsonObject(chunk) || !isJsonObject(chunk["usage"])) return false;
  const { choices } = chunk;
  return Array.isArray(choices) && choices.length === 0;
}

function skipBlanksBack(bytes: Uint8Array, from: number): number {
  let i = from;
  while (bytes[i] === 0x20 || bytes[i] === 0x09) i--;
  return i;
}

function startsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  return start.every((byte, index) => bytes[index] === byte);
}
