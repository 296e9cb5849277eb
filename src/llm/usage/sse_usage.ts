import { parseJson } from "../../base/json.ts";
import { ByteSearch } from "../format/byte_search.ts";
import { GrowingBuffer } from "../../base/bytes.ts";
import { JsonUsage } from "./json_usage.ts";
import {
  eventAround,
  firstEventEnd,
  lastEventEnd,
  LONGEST_EVENT_END,
  readEventData,
} from "../format/server_sent_events.ts";
import type { UsageTracker } from "./usage_tracker.ts";

/** Events up to this size are buffered until they are complete; longer ones are scanned incrementally. */
const MAX_EVENT_BYTES = 256 * 1024;
const usageKey = new ByteSearch('"usage');
const BLANK = 0x20;
const COLON = 0x3a;
const M = 0x4d;
const N = 0x6e;

/**
 * Finds usage in server-sent events, in any chunking.
 *
 * Parses only events that contain the key, usually one or two of thousands.
 */
export class SseUsage {
  readonly #tracker: UsageTracker;
  readonly #pending = new GrowingBuffer();
  /** Scans the current event when it exceeds `MAX_EVENT_BYTES`. */
  #longEvent: JsonUsage | undefined;
  #isFirst = true;
  /** The latest event of Gemini, which reports usage in every event: only the last one is parsed. */
  #latest: Uint8Array | undefined;

  constructor(tracker: UsageTracker) {
    this.#tracker = tracker;
  }

  push(bytes: Uint8Array): void {
    const known = this.#pending.length;
    // Only split events are copied; most are read in place.
    const start = known === 0 ? 0 : firstEventEnd(bytes, 0);
    const end = lastEventEnd(bytes, 0, bytes.length);
    if (this.#longEvent !== undefined || start < 0 || end < 0) {
      this.#pending.append(bytes);
      if (this.#longEvent === undefined) this.#readComplete(known);
      else this.#readLongEvent(this.#longEvent);
      return;
    }
    if (start > 0) this.#readPending(bytes.subarray(0, start));
    if (end > start) this.#readEvents(bytes.subarray(start, end));
    this.#pending.append(bytes.subarray(end));
  }

  /** Reads an unterminated event: some providers omit the terminator at the end of the stream. */
  finish(): void {
    if (this.#longEvent === undefined) this.#readEvents(this.#pending.view);
    else this.#longEvent.push(this.#pending.view);
    this.#pending.discard(this.#pending.length);
    this.#readLatest();
  }

  /** Appends `bytes`, which complete the pending event, and reads it. */
  #readPending(bytes: Uint8Array): void {
    this.#pending.append(bytes);
    this.#readEvents(this.#pending.view);
    this.#pending.discard(this.#pending.length);
  }

  /** Reads the complete events; none ends in the first `known` bytes. */
  #readComplete(known: number): void {
    const { view } = this.#pending;
    const from = Math.max(0, known - LONGEST_EVENT_END);
    const end = lastEventEnd(view, from, view.length);
    if (end > 0) {
      this.#readEvents(view.subarray(0, end));
      this.#pending.discard(end);
    } else if (view.length > MAX_EVENT_BYTES) {
      this.#longEvent = new JsonUsage(this.#tracker);
      this.#readLongEvent(this.#longEvent);
    }
  }

  #readLongEvent(event: JsonUsage): void {
    const { view } = this.#pending;
    const end = firstEventEnd(view, 0);
    // Keeps what may be half of a terminator.
    const length = end > 0 ? end : Math.max(0, view.length - LONGEST_EVENT_END);
    event.push(view.subarray(0, length));
    this.#pending.discard(length);
    if (end < 0) return;
    this.#longEvent = undefined;
    this.#readComplete(0);
  }

  #readEvents(events: Uint8Array): void {
    if (this.#isFirst) this.#readFirst(events);
    let done = 0;
    let latest: Uint8Array | undefined;
    const keys = usageKey.findAll(events);
    let key = keys.next(0);
    while (key >= 0) {
      if (isNull(events, key)) {
        key = keys.next(key + 1);
        continue;
      }
      const { start, end } = eventAround(events, key, done);
      const event = events.subarray(start, end);
      done = end;
      if (events[key + '"usage'.length] === M) latest = event;
      else this.#read(event);
      key = keys.next(done);
    }
    if (latest !== undefined) {
      // Not `slice`: that of a Buffer would share its memory.
      this.#latest = new Uint8Array(latest);
      this.#tracker.unreported.reset();
    }
    this.#tracker.unreported.addEvents(events.subarray(done));
  }

  #readLatest(): void {
    if (this.#latest === undefined) return;
    // `unreported` contains the text after it.
    this.#tracker.observe(parseJson(readEventData(this.#latest)));
    this.#latest = undefined;
  }

  /** Reads the first event, which names the model; the last one may never arrive. */
  #readFirst(events: Uint8Array): void {
    this.#isFirst = false;
    const end = firstEventEnd(events, 0);
    this.#read(end > 0 ? events.subarray(0, end) : events);
  }

  #read(event: Uint8Array): void {
    const isReport = this.#tracker.observe(parseJson(readEventData(event)));
    if (isReport) this.#tracker.unreported.reset();
  }
}

/** Reports whether the value of the key at `index` is null, as in all chunks of OpenAI except the last. */
function isNull(bytes: Uint8Array, index: number): boolean {
  let i = index + '"usage"'.length;
  while (bytes[i] === BLANK || bytes[i] === COLON) i++;
  return bytes[i] === N;
}
