import { createHash } from "node:crypto";
import { readMembers } from "../../base/json/decode_members.ts";
import type { Log } from "../../base/log/log.ts";
import { redactUrl } from "../../base/redaction.ts";
import type { Replacement } from "../../kv/kv_handle.ts";
import { KvStore, type KvStoreOptions } from "../../kv/kv_store.ts";
import type { DocumentAddress } from "./document_client.ts";

/** The JSON of a document and the time of its fetch. */
export interface CachedDocument {
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly fetchedAt: number;
  readonly freshMs: number;
}

/** Keys, or metadata of an authorization server. */
export type DocumentKind = "jwks" | "metadata";

/** Stores documents of identity providers across restarts, for all processes that share it. No method rejects or blocks for long. */
export interface DocumentCache {
  /** @param source Identifies the trusted owner of the document; see `cacheSourceOf`. */
  load(
    kind: DocumentKind,
    source: string,
  ): Promise<CachedDocument | undefined>;
  save(
    kind: DocumentKind,
    source: string,
    document: CachedDocument,
  ): Promise<void>;
  close(): Promise<void>;
}

/** A document of an identity provider. */
export type DocumentPlace =
  | { readonly kind: "jwks"; readonly address: DocumentAddress }
  /** The first of the addresses that provides it counts. */
  | {
    readonly kind: "metadata";
    readonly addresses: readonly DocumentAddress[];
  };

/** A document that another thread fetches, for several; see `RemoteDocument`. */
export interface SharedDocument {
  latest(): Promise<CachedDocument | undefined>;
  /** @throws {DocumentUnavailableError} */
  fresh(newerThan: number | undefined): Promise<CachedDocument>;
  /** Ends the use by this thread. */
  release(): void;
}

/** Returns the document of a place. */
export type SharedDocuments = (place: DocumentPlace) => SharedDocument;

/** A cache that stores nothing. */
export const noDocumentCache: DocumentCache = {
  load: () => Promise.resolve(undefined),
  save: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** Dependencies of `KvDocumentCache`. */
export interface KvDocumentCacheOptions extends KvStoreOptions {
  readonly log: Log;
}

/** The first request waits for the cache. */
const DEADLINE_MS = 2000;
/** Values in Deno KV are limited to 64 KiB. */
const MAX_TEXT_LENGTH = 60_000;
const EXPIRY_MS = 24 * 60 * 60 * 1000;

/**
 * Returns a digest of everything that determines which server responds at these addresses. The URL is not enough: another backend
 * may use the same name and be verified by another CA.
 */
export function cacheSourceOf(place: DocumentPlace): string {
  const addresses = place.kind === "jwks" ? [place.address] : place.addresses;
  const owners = addresses.map(({ connection, authority, target }) => {
    const { host, port, tls } = connection;
    const { hostname, subjectAltNames, caCertificates } = tls ?? {};
    const trust = tls && { hostname, subjectAltNames, caCertificates };
    return { host, port, trust, authority, target };
  });
  return createHash("sha256").update(JSON.stringify(owners)).digest("hex");
}

/** A cache in Deno KV or Redis. Errors of a missing, locked or corrupt store are logged; traffic continues without it. */
export class KvDocumentCache implements DocumentCache {
  readonly #options: KvDocumentCacheOptions;
  readonly #store: KvStore;
  readonly #saving = new Set<Promise<void>>();

  constructor(options: KvDocumentCacheOptions) {
    this.#options = options;
    this.#store = new KvStore({ ...options, deadlineMs: DEADLINE_MS });
  }

  async load(
    kind: DocumentKind,
    source: string,
  ): Promise<CachedDocument | undefined> {
    let loaded: CachedDocument | undefined;
    await this.#update("read", [kind, source], (value) => {
      loaded = readMembers(value, {
        text: "string",
        fetchedAt: "number",
        freshMs: "number",
      });
      return undefined;
    });
    return loaded;
  }

  async save(
    kind: DocumentKind,
    source: string,
    document: CachedDocument,
  ): Promise<void> {
    if (document.text.length > MAX_TEXT_LENGTH) return;
    const saving = this.#update("write", [kind, source], () => ({
      value: document,
      expireInMs: EXPIRY_MS,
    }));
    this.#saving.add(saving);
    await saving;
    this.#saving.delete(saving);
  }

  /** Closes the store once all saves have finished. */
  async close(): Promise<void> {
    await Promise.all(this.#saving);
    await this.#store.close();
  }

  async #update(
    verb: "read" | "write",
    key: Deno.KvKey,
    change: (value: unknown) => Replacement | undefined,
  ): Promise<void> {
    try {
      await this.#store.update(key, change);
    } catch (error) {
      const { log, store } = this.#options;
      log.warn(`Cannot ${verb} the cache of keys and metadata`, {
        store: redactUrl(store),
        error,
      });
    }
  }
}
