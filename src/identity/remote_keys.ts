import { createHash } from "node:crypto";
import type { Cancellation } from "../base/cancellation.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { readFileText } from "../base/regular_file.ts";
import type { HeaderList } from "../http/header_list.ts";
import {
  describeAddress,
  type DocumentAddress,
  fetchDocument,
  type FetchOptions,
} from "./document_client.ts";
import { freshnessOf } from "./freshness.ts";
import type { CachedKeys, KeyCache } from "./key_cache.ts";
import { type KeySet, readKeySet } from "./key_set.ts";
import type { KeySource } from "./key_source.ts";
import {
  type DocumentState,
  type DocumentVersion,
  RemoteDocument,
} from "./remote_document.ts";

/** Where a key set lies. */
export type KeyLocation =
  | { readonly kind: "remote"; readonly address: DocumentAddress }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "inline"; readonly text: string };

/** What fetching keys needs of its surroundings. */
export interface RemoteKeysOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly cache: KeyCache;
  /** Ends fetches when the gateway stops. */
  readonly cancellation: Cancellation;
}

/** State of the keys of a location, for people. */
export interface KeySetState extends DocumentState {
  /** URL, file or `inline`. */
  readonly source: string;
  /** How many verify tokens now. */
  readonly keys: number;
  /** Those that cannot be used and why, the first twenty: `"k2": not for signatures`. */
  readonly leftOutKeys: readonly string[];
}

const maxLeftOutKeys = 20;
const minuteMs = 60_000;
const minFreshMs = minuteMs;
const defaultFreshMs = 15 * minuteMs;
const maxFreshMs = 24 * 60 * minuteMs;
const maxAgeMs = 24 * 60 * minuteMs;
const coolDownMs = 10_000;

/** The keys of one location, fetched and kept as `RemoteDocument` does it. */
export class RemoteKeys implements KeySource {
  /** For people: URL, file or `inline`. */
  readonly name: string;
  readonly #document: RemoteDocument<KeySet>;

  constructor(location: KeyLocation, options: RemoteKeysOptions) {
    const { clock, log, cache, cancellation } = options;
    const name = nameOf(location);
    this.name = name;
    let last: { readonly text: string; readonly keys: KeySet } | undefined;
    /** The same text gives the same set, so that tokens are remembered over a refresh that changed nothing. */
    const read = async (
      { text, fetchedAt, freshMs }: CachedKeys,
    ): Promise<DocumentVersion<KeySet>> => {
      if (last?.text !== text) last = { text, keys: await readKeySet(text) };
      return { value: last.keys, fetchedAt, freshMs };
    };
    this.#document = new RemoteDocument<KeySet>({
      clock,
      maxAgeMs,
      coolDownMs,
      fetch: async () => {
        const fetched = await fetchText(location, options);
        const version = await read(fetched);
        if (location.kind === "remote") {
          void cache.save(sourceOf(location.address), fetched);
        }
        return version;
      },
      restore: async () => {
        if (location.kind !== "remote") return undefined;
        const cached = await cache.load(sourceOf(location.address));
        if (cached === undefined) return undefined;
        try {
          return await read(cached);
        } catch (error) {
          log.warn("Cannot use cached keys", { source: name, error });
          return undefined;
        }
      },
      onFetched({ value: { keys, ignored } }) {
        log.debug("Keys fetched", {
          source: name,
          keys: keys.length,
          ...(ignored.length > 0 && { ignored }),
        });
      },
      onFailed(error) {
        if (cancellation.cancelled) return;
        log.warn("Cannot get keys", { source: name, error });
      },
    });
  }

  get(): KeySet | Promise<KeySet> {
    return this.#document.get();
  }

  newer(than: KeySet): Promise<KeySet> {
    return this.#document.newer(than);
  }

  /** Asks for the keys so that they are there when they are needed; a failure is logged and nothing else. */
  warmUp(): void {
    const keys = this.get();
    if (keys instanceof Promise) keys.catch(() => {});
  }

  describe(): KeySetState {
    const { keys = [], ignored = [] } = this.#document.current ?? {};
    return {
      source: this.name,
      ...this.#document.describe(),
      keys: keys.length,
      leftOutKeys: ignored.slice(0, maxLeftOutKeys),
    };
  }
}

function nameOf(location: KeyLocation): string {
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
function sourceOf({ connection, authority, target }: DocumentAddress): string {
  const { host, port, tls } = connection;
  const { hostname, subjectAltNames, caCertificates } = tls ?? {};
  const trust = tls && { hostname, subjectAltNames, caCertificates };
  return createHash("sha256")
    .update(JSON.stringify({ host, port, trust, authority, target }))
    .digest("hex");
}

async function fetchText(
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
      return { text, fetchedAt, freshMs: minFreshMs };
    }
    case "inline":
      return { text: location.text, fetchedAt, freshMs: Infinity };
  }
}

function keepFor(headers: HeaderList, now: number): number {
  const freshMs = freshnessOf(headers, now) ?? defaultFreshMs;
  return Math.min(Math.max(freshMs, minFreshMs), maxFreshMs);
}
