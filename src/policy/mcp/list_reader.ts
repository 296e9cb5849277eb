import { Buffer } from "node:buffer";
import type { Clock } from "../../base/clock.ts";
import { isJsonObject } from "../../base/json.ts";
import { JsonProblem } from "../../base/json/json_ambiguity.ts";
import { type JsonSpan, readJson } from "../../base/json/json_reader.ts";
import {
  JsonSelection,
  type JsonShape,
  WHOLE,
} from "../../base/json/json_shape.ts";
import { firstKind, KIND } from "../../base/json/json_tokens.ts";
import { runInSlices } from "../../base/slices.ts";
import { listFacts, type ListName } from "./mcp_lists.ts";

/** Decides whether the client sees an item. */
export type ItemJudge = (list: ListName, identifier: string) => boolean;

/** Called for each list in a message. */
export type OnList = (list: ListName, listed: number, hidden: number) => void;

/** Notification that names a resource. */
const UPDATED = "notifications/resources/updated";

/** Removes items from the lists in JSON-RPC messages, and news of resources; all other bytes stay as they are. */
export class ListReader {
  readonly #lists: readonly ListName[];
  readonly #clock: Clock;
  readonly #message: JsonSelection;
  readonly #batch: JsonSelection;

  /** @param lists Lists to filter. */
  constructor(lists: readonly ListName[], clock: Clock) {
    this.#lists = lists;
    this.#clock = clock;
    const members = lists.map((list): [string, JsonShape] => [
      list,
      [{ [listFacts(list).identifier]: WHOLE }],
    ]);
    const result = Object.fromEntries([...members, ["cacheScope", WHOLE]]);
    const news: Readonly<Record<string, JsonShape>> =
      lists.includes("resources")
        ? { method: WHOLE, params: { uri: WHOLE } }
        : {};
    const message = { ...news, result };
    this.#message = new JsonSelection(message);
    this.#batch = new JsonSelection([message]);
  }

  /**
   * Returns a message or a batch of messages without the items that `judge` rejects; the same bytes when nothing changes, nothing for
   * news of such a resource. A list that depends on the caller must not be shared: its `cacheScope` becomes `private`.
   * @throws {JsonProblem} When it is not JSON, when clients may read it in different ways, or when an item has no identifier.
   */
  async filter(
    bytes: Uint8Array,
    judge: ItemJudge,
    onList: OnList,
  ): Promise<Uint8Array | undefined> {
    const isBatch = firstKind(bytes) === KIND.OPEN_LIST;
    const spans = new Map<string, JsonSpan>();
    const selection = isBatch ? this.#batch : this.#message;
    const value = await readJson(bytes, selection, spans);
    const messages = isBatch && Array.isArray(value) ? value : [value];
    const isSeen = messages.map((message) => this.#isSeen(message, judge));
    if (isSeen.length > 0 && !isSeen.includes(true)) return undefined;
    const edits: Edit[] = [];
    if (isSeen.includes(false)) {
      const items = messages.map((_, index) => spanAt(spans, `${index}`));
      edits.push(...cuts(spanAt(spans, ""), items, isSeen));
    }
    for (const [index, message] of messages.entries()) {
      if (isSeen[index] === false) continue;
      const result = isJsonObject(message) ? message["result"] : undefined;
      if (!isJsonObject(result)) continue;
      const path = isBatch ? `${index}.result` : "result";
      const place = (member: string) => spanAt(spans, `${path}.${member}`);
      const found = this.#lists.filter((list) => Object.hasOwn(result, list));
      for (const list of found) {
        const isKept = await this.#judge(list, result[list], judge);
        const hidden = isKept.filter((kept) => !kept).length;
        onList(list, isKept.length, hidden);
        const items = isKept.map((_, at) => place(`${list}.${at}`));
        if (hidden > 0) edits.push(...cuts(place(list), items, isKept));
      }
      if (found.length > 0 && isShared(result)) {
        edits.push({ ...place("cacheScope"), text: '"private"' });
      }
    }
    return apply(bytes, edits);
  }

  /** Reports whether a message is no news of a resource that `judge` rejects. */
  #isSeen(message: unknown, judge: ItemJudge): boolean {
    if (!isJsonObject(message) || message["method"] !== UPDATED) return true;
    const { params } = message;
    const uri = isJsonObject(params) ? params["uri"] : undefined;
    return typeof uri === "string" && judge("resources", uri);
  }

  /** Judges the items in slices: rules may be slow, and lists long. */
  #judge(
    list: ListName,
    value: unknown,
    judge: ItemJudge,
  ): Promise<readonly boolean[]> {
    if (!Array.isArray(value)) throw unreadable(`${list} is not a list`);
    const items: readonly unknown[] = value;
    const { identifier } = listFacts(list);
    function* steps(): Generator<void, readonly boolean[]> {
      const isKept: boolean[] = [];
      for (const item of items) {
        const id: unknown = isJsonObject(item) ? item[identifier] : undefined;
        if (typeof id !== "string") {
          throw unreadable(`an item of ${list} has no ${identifier}`);
        }
        isKept.push(judge(list, id));
        yield;
      }
      return isKept;
    }
    return runInSlices(steps(), this.#clock);
  }
}

function unreadable(message: string): JsonProblem {
  return new JsonProblem(message, false);
}

function isShared(result: Readonly<Record<string, unknown>>): boolean {
  return Object.hasOwn(result, "cacheScope") &&
    result["cacheScope"] !== "private";
}

/** A part of the text and its replacement. */
interface Edit extends JsonSpan {
  readonly text: string;
}

/** Returns the parts to remove: each hidden item with the comma before it; at the beginning, with the one after it. */
function cuts(
  list: JsonSpan,
  items: readonly JsonSpan[],
  isKept: readonly boolean[],
): readonly Edit[] {
  const first = isKept.indexOf(true);
  const cut = (start: number, end: number) => ({ start, end, text: "" });
  if (first < 0) return [cut(list.start + 1, list.end - 1)];
  const begin = items[0]?.start ?? 0;
  const leading = cut(begin, items[first]?.start ?? 0);
  const others = items.flatMap(({ end }, at) =>
    at < first || isKept[at] ? [] : [cut(items[at - 1]?.end ?? 0, end)]
  );
  return first > 0 ? [leading, ...others] : others;
}

/** @throws {TypeError} When the member was not read. */
function spanAt(
  spans: ReadonlyMap<string, JsonSpan>,
  path: string,
): JsonSpan {
  const span = spans.get(path);
  if (span !== undefined) return span;
  throw new TypeError(`Cannot find the place of ${path}`);
}

function apply(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array {
  if (edits.length === 0) return bytes;
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const { start, end, text } of edits.toSorted(byStart)) {
    parts.push(bytes.subarray(from, start), encoder.encode(text));
    from = end;
  }
  parts.push(bytes.subarray(from));
  return Buffer.concat(parts);
}

function byStart(a: Edit, b: Edit): number {
  return a.start - b.start;
}

const encoder = new TextEncoder();
