import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import {
  type CachedDocument,
  cacheSourceOf,
  type DocumentCache,
  type DocumentPlace,
  type SharedDocument,
  type SharedDocuments,
} from "./document_cache.ts";
import {
  type DocumentState,
  type DocumentVersion,
  RemoteDocument,
} from "./remote_document.ts";

/** Dependencies of documents of identity providers. */
export interface DocumentServices {
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

/** Origin and meaning of a document. */
export interface DocumentSource<T> {
  /** URLs, file or `inline`. */
  readonly name: string;
  /** `undefined` for documents that are on this machine: they are not cached, and each thread reads its own. */
  readonly place: DocumentPlace | undefined;
  readonly coolDownMs: number;
  fetch(): Promise<CachedDocument>;
  /** @throws {TypeError} When the document is unusable: it must not replace one that works. */
  read(text: string): T | Promise<T>;
  /** Log lines. */
  readonly messages: {
    readonly available: string;
    readonly unavailable: string;
    readonly unusable: string;
  };
  /** Called when this thread has fetched the document. */
  onFetched?(value: T): void;
}

const MAX_AGE_MS = 24 * 60 * 60_000;

/** A document of an identity provider, cached across restarts, and fetched by one thread for all. */
export class ProviderDocument<T> extends RemoteDocument<T> {
  /** URLs, file or `inline`. */
  readonly name: string;
  readonly #shared: SharedDocument | undefined;

  constructor(source: DocumentSource<T>, services: DocumentServices) {
    const { name, place, messages } = source;
    const { clock, log, cache, cancellation } = services;
    const shared = place && services.shared?.(place);
    const cacheKey = place && [place.kind, cacheSourceOf(place)] as const;
    const read = async (
      document: CachedDocument,
    ): Promise<DocumentVersion<T>> => ({
      value: await source.read(document.text),
      ...document,
    });
    super({
      clock,
      maxAgeMs: MAX_AGE_MS,
      coolDownMs: source.coolDownMs,
      async fetch(newerThan) {
        if (shared !== undefined) return read(await shared.fresh(newerThan));
        const fetched = await source.fetch();
        const version = await read(fetched);
        if (cacheKey !== undefined) void cache.save(...cacheKey, fetched);
        return version;
      },
      async restore() {
        if (cacheKey === undefined) return undefined;
        const cached = await (shared?.latest() ?? cache.load(...cacheKey));
        try {
          return cached && await read(cached);
        } catch (error) {
          log.warn(messages.unusable, { source: name, error });
          return undefined;
        }
      },
      // The thread that fetches a shared document logs that.
      onFetched({ value }, afterFailure) {
        if (shared !== undefined) return;
        if (afterFailure) log.info(messages.available, { source: name });
        source.onFetched?.(value);
      },
      onFailed(error) {
        if (cancellation.cancelled || shared !== undefined) return;
        log.warn(messages.unavailable, { source: name, error });
      },
    });
    this.name = name;
    this.#shared = shared;
  }

  /** Reports whether another thread fetches this document; it also logs and counts that. */
  get isShared(): boolean {
    return this.#shared !== undefined;
  }

  /** Ends the use of a shared document. */
  release(): void {
    this.#shared?.release();
  }

  override describe(): DocumentState & { readonly source: string } {
    return { source: this.name, ...super.describe() };
  }
}
