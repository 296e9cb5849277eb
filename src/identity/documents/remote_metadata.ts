import {
  isDeeperThan,
  isJsonObject,
  type JsonObject,
  parseJson,
  stringMember,
} from "../../base/json.ts";
import {
  describeAddress,
  type DocumentAddress,
  fetchDocument,
  type FetchOptions,
} from "./document_client.ts";
import { type DocumentVersion, RemoteDocument } from "./remote_document.ts";
import { type CachedDocument, cacheSourceOf } from "./document_cache.ts";
import type { RemoteKeysOptions } from "../keys/remote_keys.ts";

/** Metadata of an authorization server, cached for five minutes, and longer while the server is unavailable. */
export type RemoteMetadata = RemoteDocument<JsonObject>;

/** Metadata, and how to end its use. */
export interface MetadataEntry {
  readonly document: RemoteMetadata;
  release(): void;
}

/** Deeper nesting could not be serialized again. */
const MAX_DEPTH = 32;
const FRESH_MS = 5 * 60_000;
const MAX_AGE_MS = 24 * 60 * 60_000;

/** Creates metadata that is fetched from the first of `addresses` that provides it. */
export function createRemoteMetadata(
  addresses: readonly DocumentAddress[],
  options: RemoteKeysOptions,
): MetadataEntry {
  const { clock, log, cancellation, cache } = options;
  const shared = options.shared?.({ kind: "metadata", addresses });
  const source = addresses.map(describeAddress).join(" ");
  const cacheSource = cacheSourceOf(...addresses);
  const document = new RemoteDocument({
    clock,
    maxAgeMs: MAX_AGE_MS,
    coolDownMs: FRESH_MS,
    async fetch(newerThan) {
      if (shared !== undefined) {
        return readVersion(await shared.fresh(newerThan));
      }
      const fetchedAt = clock.now();
      const text = await fetchFirst(addresses, options);
      const fetched = { text, fetchedAt, freshMs: FRESH_MS };
      void cache.save("metadata", cacheSource, fetched);
      return readVersion(fetched);
    },
    async restore() {
      const cached = await (shared?.latest() ??
        cache.load("metadata", cacheSource));
      if (cached === undefined) return undefined;
      try {
        return readVersion(cached);
      } catch (error) {
        log.warn("Cannot use cached metadata", { source, error });
        return undefined;
      }
    },
    onFetched(_, afterFailure) {
      if (!afterFailure || shared !== undefined) return;
      log.info("Authorization server metadata is available again", { source });
    },
    onFailed(error) {
      if (cancellation.cancelled || shared !== undefined) return;
      log.warn("Cannot fetch authorization server metadata", { source, error });
    },
  });
  return { document, release: () => shared?.release() };
}

function readVersion(cached: CachedDocument): DocumentVersion<JsonObject> {
  return { value: readMetadata(cached.text), ...cached };
}

/** Returns the first valid document. */
async function fetchFirst(
  addresses: readonly DocumentAddress[],
  options: FetchOptions,
): Promise<string> {
  const problems: unknown[] = [];
  for (const address of addresses) {
    try {
      return await fetchMetadata(address, options);
    } catch (error) {
      problems.push(error);
    }
  }
  throw problems.at(-1) ?? new Error("metadata has no address");
}

async function fetchMetadata(
  address: DocumentAddress,
  options: FetchOptions,
): Promise<string> {
  const { status, text } = await fetchDocument(address, options);
  if (status !== 200) {
    throw new Error(`unexpected response: expected status 200, got ${status}`);
  }
  readMetadata(text);
  return text;
}

/** @throws {TypeError} When the document is no usable metadata: it must not replace metadata that works. */
function readMetadata(text: string): JsonObject {
  const document = parseJson(text);
  if (document === undefined) {
    throw new TypeError("unexpected response: not JSON");
  }
  if (isDeeperThan(document, MAX_DEPTH)) {
    throw new TypeError("unexpected response: nested too deeply");
  }
  if (isJsonObject(document) && hasEndpoints(document)) return document;
  throw new TypeError(
    "unexpected response: expected authorization_endpoint and token_endpoint",
  );
}

function hasEndpoints(document: JsonObject): boolean {
  return stringMember(document, "authorization_endpoint") !== undefined &&
    stringMember(document, "token_endpoint") !== undefined;
}
