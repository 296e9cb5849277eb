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
import { RemoteDocument } from "./remote_document.ts";
import type { RemoteKeysOptions } from "../keys/remote_keys.ts";

/** Metadata of an authorization server, cached for five minutes, and longer while the server is unavailable. */
export type RemoteMetadata = RemoteDocument<JsonObject>;

/** Deeper nesting could not be serialized again. */
const MAX_DEPTH = 32;
const FRESH_MS = 5 * 60_000;
const MAX_AGE_MS = 24 * 60 * 60_000;

/** Creates metadata that is fetched from the first of `addresses` that provides it. */
export function createRemoteMetadata(
  addresses: readonly DocumentAddress[],
  options: Pick<RemoteKeysOptions, "clock" | "log" | "cancellation">,
): RemoteMetadata {
  const { clock, log, cancellation } = options;
  const source = addresses.map(describeAddress).join(" ");
  return new RemoteDocument({
    clock,
    maxAgeMs: MAX_AGE_MS,
    coolDownMs: FRESH_MS,
    fetch: async () => ({
      value: await fetchFirst(addresses, options),
      fetchedAt: clock.now(),
      freshMs: FRESH_MS,
    }),
    onFetched(_, afterFailure) {
      if (!afterFailure) return;
      log.info("Authorization server metadata is available again", { source });
    },
    onFailed(error) {
      if (cancellation.cancelled) return;
      log.warn("Cannot fetch authorization server metadata", { source, error });
    },
  });
}

async function fetchFirst(
  addresses: readonly DocumentAddress[],
  options: FetchOptions,
): Promise<JsonObject> {
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
): Promise<JsonObject> {
  const { status, text } = await fetchDocument(address, options);
  if (status !== 200) {
    throw new Error(`unexpected response: expected status 200, got ${status}`);
  }
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

/** Reports whether a document is usable metadata: another one must not replace a working one. */
function hasEndpoints(document: JsonObject): boolean {
  return stringMember(document, "authorization_endpoint") !== undefined &&
    stringMember(document, "token_endpoint") !== undefined;
}
