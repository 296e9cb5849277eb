import { createHash } from "node:crypto";
import { readFileText } from "../../base/regular_file.ts";
import type { HeaderList } from "../../http/header_list.ts";
import {
  describeAddress,
  type DocumentAddress,
  fetchDocument,
  type FetchOptions,
} from "../documents/document_client.ts";
import { freshnessOf } from "../documents/freshness.ts";
import type { CachedKeys } from "./key_cache.ts";

/** Where a key set lies. */
export type KeyLocation =
  | { readonly kind: "remote"; readonly address: DocumentAddress }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "inline"; readonly text: string };

const MINUTE_MS = 60_000;
const MIN_FRESH_MS = MINUTE_MS;
const DEFAULT_FRESH_MS = 15 * MINUTE_MS;
const MAX_FRESH_MS = 24 * 60 * MINUTE_MS;

/** For people: URL, file or `inline`. */
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

/**
 * Whom the keys of an address are believed: everything that decides who can answer there. A URL would not do, for another backend may
 * stand for the same name and be verified with another authority.
 */
export function cacheSourceOf(
  { connection, authority, target }: DocumentAddress,
): string {
  const { host, port, tls } = connection;
  const { hostname, subjectAltNames, caCertificates } = tls ?? {};
  const trust = tls && { hostname, subjectAltNames, caCertificates };
  return createHash("sha256")
    .update(JSON.stringify({ host, port, trust, authority, target }))
    .digest("hex");
}

/** The text of the key set. @throws {Error} When it cannot be had. */
export async function fetchKeyText(
  location: KeyLocation,
  options: FetchOptions,
): Promise<CachedKeys> {
  const fetchedAt = options.clock.now();
  switch (location.kind) {
    case "remote": {
      const { status, headers, text } = await fetchDocument(
        location.address,
        options,
      );
      if (status !== 200) {
        throw new Error(
          `Cannot use answer: expected status 200, got ${status}`,
        );
      }
      return { text, fetchedAt, freshMs: keepFor(headers, fetchedAt) };
    }
    case "file": {
      const text = await readFileText(location.path);
      return { text, fetchedAt, freshMs: MIN_FRESH_MS };
    }
    case "inline":
      return { text: location.text, fetchedAt, freshMs: Infinity };
  }
}

function keepFor(headers: HeaderList, now: number): number {
  const freshMs = freshnessOf(headers, now) ?? DEFAULT_FRESH_MS;
  return Math.min(Math.max(freshMs, MIN_FRESH_MS), MAX_FRESH_MS);
}
