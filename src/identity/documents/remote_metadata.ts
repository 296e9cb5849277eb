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
import {
  type DocumentServices,
  ProviderDocument,
} from "./provider_document.ts";

/** Metadata of an authorization server, cached for five minutes, and longer while the server is unavailable. */
export type RemoteMetadata = ProviderDocument<JsonObject>;

/** Deeper nesting could not be serialized again. */
const MAX_DEPTH = 32;
const FRESH_MS = 5 * 60_000;

/** Creates metadata that is fetched from the first of `addresses` that provides it. */
export function createRemoteMetadata(
  addresses: readonly DocumentAddress[],
  services: DocumentServices,
): RemoteMetadata {
  return new ProviderDocument({
    name: addresses.map(describeAddress).join(" or "),
    place: { kind: "metadata", addresses },
    coolDownMs: FRESH_MS,
    async fetch() {
      const fetchedAt = services.clock.now();
      const text = await fetchFirst(addresses, services);
      return { text, fetchedAt, freshMs: FRESH_MS };
    },
    read: readMetadata,
    messages: {
      available: "Authorization server metadata is available again",
      unavailable: "Cannot fetch authorization server metadata",
      unusable: "Cannot use cached metadata",
    },
  }, services);
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
