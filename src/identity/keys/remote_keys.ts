import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import {
  type CachedDocument,
  cacheSourceOf,
  type DocumentCache,
  type SharedDocument,
  type SharedDocuments,
} from "../documents/document_cache.ts";
import {
  describeLocation,
  fetchKeyText,
  type KeyLocation,
} from "./key_location.ts";
import { type KeySet, type KeySource, readKeySet } from "./key_set.ts";
import {
  type DocumentState,
  type DocumentVersion,
  RemoteDocument,
} from "../documents/remote_document.ts";

/** Dependencies of `RemoteKeys`. */
export interface RemoteKeysOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Decides which servers may be asked. */
  readonly egress: EgressPolicy;
  readonly cache: DocumentCache;
  /** Set when another thread fetches documents, for several. */
  readonly shared?: SharedDocuments | undefined;
  /** Aborts fetches when the gateway stops. */
  readonly cancellation: Cancellation;
}

/** State of a key set for the admin interface. */
export interface KeySetState extends DocumentState {
  /** URL, file or `inline`. */
  readonly source: string;
  /** Number of usable keys. */
  readonly keys: number;
  /** Key IDs of the usable keys, cut off after 64 characters. */
  readonly kids: readonly string[];
  /** The first twenty unusable keys with the reason: `"k2": not for signatures`. */
  readonly leftOutKeys: readonly string[];
}

const MAX_LEFT_OUT_KEYS = 20;
const MAX_KID_LENGTH = 64;
const MAX_WITHDRAWN_KEYS = 20;
const MAX_AGE_MS = 24 * 60 * 60_000;
const COOL_DOWN_MS = 10_000;

/** The keys of one location, fetched and cached by a `RemoteDocument`. */
export class RemoteKeys implements KeySource {
  /** URL, file or `inline`. */
  readonly name: string;
  readonly #location: KeyLocation;
  readonly #options: RemoteKeysOptions;
  readonly #document: RemoteDocument<KeySet>;
  readonly #shared: SharedDocument | undefined;
  #last: { readonly text: string; readonly keys: KeySet } | undefined;

  constructor(location: KeyLocation, options: RemoteKeysOptions) {
    this.name = describeLocation(location);
    this.#location = location;
    this.#options = options;
    this.#shared = location.kind === "remote"
      ? options.shared?.({ kind: "jwks", address: location.address })
      : undefined;
    this.#document = new RemoteDocument<KeySet>({
      clock: options.clock,
      maxAgeMs: MAX_AGE_MS,
      // Keys in the configuration are always the newest.
      coolDownMs: location.kind === "inline" ? 0 : COOL_DOWN_MS,
      fetch: (newerThan) => this.#fetch(newerThan),
      restore: () => this.#restore(),
      onFetched: ({ value }, afterFailure) =>
        this.#logFetched(value, afterFailure),
      onFailed: (error) => this.#logFailed(error),
    });
  }

  /** Reports whether another thread fetches these keys; it also logs and counts that. */
  get isShared(): boolean {
    return this.#shared !== undefined;
  }

  get document(): RemoteDocument<KeySet> {
    return this.#document;
  }

  /** Ends the use of shared keys. */
  release(): void {
    this.#shared?.release();
  }

  get(): KeySet | Promise<KeySet> {
    return this.#document.get();
  }

  newer(than: KeySet, issuedBy?: number): Promise<KeySet> {
    return this.#document.newer(than, issuedBy);
  }

  /** Fetches the keys ahead of the first request; only logs a failure. */
  warmUp(): void {
    const keys = this.get();
    if (keys instanceof Promise) keys.catch(() => {});
  }

  /** Fetches the keys now; see `RemoteDocument.refetch`. */
  refetch(): Promise<void> {
    return this.#document.refetch();
  }

  describe(): KeySetState {
    const { keys = [], ignored = [] } = this.#document.current ?? {};
    return {
      source: this.name,
      ...this.#document.describe(),
      keys: keys.length,
      kids: keys.flatMap(({ kid }) => kid?.slice(0, MAX_KID_LENGTH) ?? []),
      leftOutKeys: ignored.slice(0, MAX_LEFT_OUT_KEYS),
    };
  }

  async #fetch(newerThan?: number): Promise<DocumentVersion<KeySet>> {
    const location = this.#location;
    if (this.#shared !== undefined) {
      return await this.#read(await this.#shared.fresh(newerThan));
    }
    const fetched = await fetchKeyText(location, this.#options);
    const version = await this.#read(fetched);
    if (location.kind === "remote") {
      void this.#options.cache.save(
        "jwks",
        cacheSourceOf(location.address),
        fetched,
      );
    }
    return version;
  }

  async #restore(): Promise<DocumentVersion<KeySet> | undefined> {
    const location = this.#location;
    if (location.kind !== "remote") return undefined;
    const { cache, log } = this.#options;
    const cached = await (this.#shared?.latest() ??
      cache.load("jwks", cacheSourceOf(location.address)));
    if (cached === undefined) return undefined;
    try {
      return await this.#read(cached);
    } catch (error) {
      log.warn("Cannot use cached keys", { source: this.name, error });
      return undefined;
    }
  }

  /** Returns the same set for the same JSON, so that cached tokens stay valid when a refresh changed nothing. */
  async #read(
    cached: CachedDocument,
  ): Promise<DocumentVersion<KeySet>> {
    const { text } = cached;
    if (this.#last?.text !== text) {
      const { keys = [], withdrawn = [] } = this.#last?.keys ?? {};
      const known = [...keys, ...withdrawn].slice(0, MAX_WITHDRAWN_KEYS);
      this.#last = {
        text,
        keys: { ...await readKeySet(text), withdrawn: known },
      };
    }
    return { value: this.#last.keys, ...cached };
  }

  #logFetched({ keys, ignored }: KeySet, afterFailure: boolean): void {
    if (this.isShared) return;
    const { log } = this.#options;
    if (afterFailure) {
      log.info("Keys are available again", { source: this.name });
    }
    log.debug("Keys fetched", {
      source: this.name,
      keys: keys.length,
      ...(ignored.length > 0 && { ignored }),
    });
  }

  #logFailed(error: unknown): void {
    const { cancellation, log } = this.#options;
    if (cancellation.cancelled || this.isShared) return;
    log.warn("Cannot fetch keys", { source: this.name, error });
  }
}
