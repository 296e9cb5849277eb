import { readFileText } from "../../base/regular_file.ts";
import type { HeaderList } from "../../http/header_list.ts";
import {
  describeAddress,
  type DocumentAddress,
  fetchDocument,
  type FetchOptions,
} from "../documents/document_client.ts";
import { freshnessOf } from "../documents/freshness.ts";
import type { CachedDocument } from "../documents/document_cache.ts";

/** Location of a key set. */
export type KeyLocation =
  | { readonly kind: "remote"; readonly address: DocumentAddress }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "inline"; readonly text: string };

const MINUTE_MS = 60_000;
const MIN_FRESH_MS = MINUTE_MS;
const DEFAULT_FRESH_MS = 15 * MINUTE_MS;
const MAX_FRESH_MS = 24 * 60 * MINUTE_MS;

/** Formats a location: URL, file or `inline`. */
export function describeLocation(location: KeyLocation): string {
  switch (location.kind) {
    case "remote":
      return describeAddress(location.address);
    case "file":
      return location.path;
    case "inline":
      return "inline";
  }
}

/** Fetches the JSON of a key set. @throws {Error} When it is not available. */
export async function fetchKeyText(
  location: KeyLocation,
  options: FetchOptions,
): Promise<CachedDocument> {
  const fetchedAt = options.clock.now();
  switch (location.kind) {
    case "remote": {
      const { status, headers, text } = await fetchDocument(
        location.address,
        options,
      );
      if (status !== 200) {
        throw new Error(
          `unexpected response: expected status 200, got ${status}`,
        );
      }
      return { text, fetchedAt, freshMs: boundedFreshness(headers, fetchedAt) };
    }
    case "file": {
      const text = await readFileText(location.path);
      return { text, fetchedAt, freshMs: MIN_FRESH_MS };
    }
    case "inline":
      return { text: location.text, fetchedAt, freshMs: Infinity };
  }
}

function boundedFreshness(headers: HeaderList, now: number): number {
  const freshMs = freshnessOf(headers, now) ?? DEFAULT_FRESH_MS;
  return Math.min(Math.max(freshMs, MIN_FRESH_MS), MAX_FRESH_MS);
}
