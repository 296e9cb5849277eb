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

/** The metadata of an authorization server; it is kept for five minutes, and while the server is down. */
export type RemoteMetadata = RemoteDocument<JsonObject>;

/** What is nested deeper could not be written again. */
const MAX_DEPTH = 32;
const FRESH_MS = 5 * 60_000;
const MAX_AGE_MS = 24 * 60 * 60_000;

/** The metadata at the first address that has it. @param addresses Tried in order. */
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
      log.info("Got authorization server metadata again", { source });
    },
    onFailed(error) {
      if (cancellation.cancelled) return;
      log.warn("Cannot get authorization server metadata", { source, error });
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
  throw problems.at(-1) ?? new Error("Cannot get metadata: no address");
}

async function fetchMetadata(
  address: DocumentAddress,
  options: FetchOptions,
): Promise<JsonObject> {
  const { status, text } = await fetchDocument(address, options);
  if (status !== 200) {
    throw new Error(`Cannot use answer: expected status 200, got ${status}`);
  }
  const document = parseJson(text);
  if (document === undefined) {
    throw new TypeError("Cannot use answer: it is not JSON");
  }
  if (isDeeperThan(document, MAX_DEPTH)) {
    throw new TypeError("Cannot use answer: it is nested too deep");
  }
  if (isJsonObject(document) && hasEndpoints(document)) return document;
  throw new TypeError(
    "Cannot use answer: expected authorization_endpoint and token_endpoint",
  );
}

/** What is not even that would only replace a document that works. */
function hasEndpoints(document: JsonObject): boolean {
  return stringMember(document, "authorization_endpoint") !== undefined &&
    stringMember(document, "token_endpoint") !== undefined;
}
