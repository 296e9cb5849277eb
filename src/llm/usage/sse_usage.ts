import { parseJson } from "../../base/json.ts";
import {
  eventAround,
  eventsOf,
  EventStream,
  firstEventEnd,
  readEventData,
} from "../../base/wire/event_stream.ts";
import { ByteSearch } from "../../base/wire/byte_search.ts";
import { JsonUsage } from "./json_usage.ts";
import { llmApiFacts, llmApiNames } from "../llm_api.ts";
import type { UsageTracker } from "./usage_tracker.ts";

/** Events up to this size are buffered until they are complete; longer ones are scanned incrementally. */
const MAX_EVENT_BYTES = 256 * 1024;
const USAGE = '"usage';
const keys = new Set(llmApiNames().map((api) => llmApiFacts(api).streamKey));
/** Searches for the counts of APIs that have no usage object. */
const otherSearches = Array.from(keys, (key) => `"${key}`)
  .filter((key) => key !== USAGE)
  .map((key) => ({ key, search: new ByteSearch(key) }));
const BLANK = 0x20;
const COLON = 0x3a;
const M = 0x4d;
const N = 0x6e;
/** Events in which an answer is recognized where the path does not tell the API: some streams begin with others. */
const MAX_FIRST_EVENTS = 8;

/**
 * Finds usage in server-sent events, in any chunking.
 *
 * Parses only events that contain the key, usually one or two of thousands.
 */
export class SseUsage {
  readonly #tracker: UsageTracker;
  readonly #stream = new EventStream();
  #key: string;
  #search: ByteSearch;
  /** Scans the current event when it exceeds `MAX_EVENT_BYTES`. */
  #longEvent: JsonUsage | undefined;
  /** Events with data of those at the beginning. */
  #firstEvents = 0;
  /** The latest event of Gemini or llama.cpp, which report usage in every event: only the last one is parsed. */
  #latest: Uint8Array | undefined;

  /** @param key Beginning of the name of the counts. */
  constructor(tracker: UsageTracker, key: string) {
    this.#tracker = tracker;
    this.#key = `"${key}`;
    this.#search = new ByteSearch(this.#key);
  }

  push(bytes: Uint8Array): void {
    for (const events of this.#stream.push(bytes)) {
      const from = this.#longEvent === undefined ? 0 : firstEventEnd(events, 0);
      this.#longEvent?.push(events.subarray(0, from));
      this.#longEvent = undefined;
      if (from < events.length) this.#readEvents(events.subarray(from));
    }
    if (this.#stream.pending > MAX_EVENT_BYTES) {
      this.#longEvent ??= new JsonUsage(this.#tracker);
    }
    this.#longEvent?.push(this.#stream.takePart());
  }

  /** Reads an unterminated event: some providers omit the terminator at the end of the stream. */
  finish(): void {
    const rest = this.#stream.finish();
    if (this.#longEvent === undefined) this.#readEvents(rest);
    else this.#longEvent.push(rest);
    if (this.#latest === undefined) return;
    // The estimate of the output has the text after it.
    this.#tracker.observe(parseJson(readEventData(this.#latest)));
    this.#latest = undefined;
  }

  #readEvents(events: Uint8Array): void {
    if (this.#isBeginning) this.#readFirst(events);
    let done = 0;
    let latest: Uint8Array | undefined;
    const places = this.#search.findAll(events);
    let key = places.next(0);
    while (key >= 0) {
      const keyEnd = key + this.#key.length;
      if (isNull(events, keyEnd)) {
        key = places.next(key + 1);
        continue;
      }
      const { start, end } = eventAround(events, key, done);
      const event = events.subarray(start, end);
      done = end;
      const isRepeated = this.#key !== USAGE || events[keyEnd] === M;
      if (isRepeated) latest = event;
      else this.#observe(readEventData(event));
      key = places.next(done);
    }
    if (latest !== undefined) {
      // Not `slice`: that of a Buffer would share its memory.
      this.#latest = new Uint8Array(latest);
      this.#tracker.output.reset();
    }
    this.#tracker.output.addEvents(events.subarray(done));
  }

  get #isBeginning(): boolean {
    const { api, isAnswer } = this.#tracker;
    return this.#firstEvents === 0 ||
      api === undefined && !isAnswer && this.#firstEvents < MAX_FIRST_EVENTS;
  }

  /** Reads the first event, which names the model; the last one may never arrive. Comments have no data. */
  #readFirst(events: Uint8Array): void {
    for (const event of eventsOf(events)) {
      if (!this.#isBeginning) return;
      const data = readEventData(event);
      if (data !== "") this.#readBeginning(event, data);
    }
  }

  #readBeginning(event: Uint8Array, data: string): void {
    this.#firstEvents++;
    const isReport = this.#observe(data);
    // A first event with counts: its shape decides, where the path did not. Text that a model generates must not.
    const found = isReport && this.#firstEvents === 1
      ? otherSearches.find(({ search }) => search.find(event) >= 0)
      : undefined;
    if (this.#key === USAGE && found !== undefined) {
      this.#key = found.key;
      this.#search = found.search;
    }
  }

  /** Returns whether the event reports usage. */
  #observe(data: string): boolean {
    const isReport = this.#tracker.observe(parseJson(data));
    if (isReport) this.#tracker.output.reset();
    return isReport;
  }
}

/** Reports whether the value of the key that ends before `end` is null, as in all chunks of OpenAI except the last. */
function isNull(bytes: Uint8Array, end: number): boolean {
  let i = end + 1;
  while (bytes[i] === BLANK || bytes[i] === COLON) i++;
  return bytes[i] === N;
}
