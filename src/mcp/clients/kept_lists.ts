import { Buffer } from "node:buffer";
import type { JsonObject } from "../../base/json.ts";
import type { Catalog, MergedList, OpenReader } from "../catalog/catalog.ts";
import type { Era } from "../protocol/revisions.ts";
import { listFacts, type ListKind } from "../servers/lists/list_items.ts";
import { PAGE_ITEMS } from "./list_cursors.ts";
import { resultForEra } from "./revision_results.ts";

/** Results of lists as bytes, which are the same for every client while nothing changes. */
export class KeptLists {
  readonly #catalog: Catalog;
  readonly #written = new WeakMap<
    MergedList,
    Partial<Record<Era, Uint8Array>>
  >();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** Returns the JSON of the result of a list; `undefined` if a server has to be asked for it, or if it has several pages. */
  current(
    kind: ListKind,
    era: Era,
    reader: OpenReader,
  ): Uint8Array | undefined {
    const list = this.#catalog.current(kind, reader);
    if (list === undefined || list.items.length > PAGE_ITEMS) return undefined;
    const written = this.#written.getOrInsertComputed(list, () => ({}));
    return written[era] ??= writtenList(kind, era, list);
  }
}

function writtenList(kind: ListKind, era: Era, list: MergedList): Uint8Array {
  const { method } = listFacts[kind];
  const result = listResult(kind, list.items, list.ttlMs);
  return Buffer.from(JSON.stringify(resultForEra(era, method, result)));
}

/** Creates the result of a list without failures that has no further page. */
export function listResult(
  kind: ListKind,
  items: readonly JsonObject[],
  ttlMs: number,
): JsonObject {
  // Rules of routes hide items from some users.
  return { [kind]: items, ttlMs, cacheScope: "private" };
}
