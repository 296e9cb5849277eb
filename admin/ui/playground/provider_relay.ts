import {
  isJsonObject,
  parseJson,
  stringMember,
} from "../../../src/base/json.ts";
import { serverMetadataUrls } from "../../../src/base/wire/server_metadata_urls.ts";
import type { PlaygroundRequest, RelayedResponse } from "./relayed.ts";

const TIMEOUT_MS = 10_000;
const MAX_METADATA_BYTES = 256 * 1024;

/**
 * Sends a request to an identity provider of the configuration: GET to its metadata, POST to the token or registration endpoint that
 * this metadata names. Returns `undefined` for any other URL, to which nothing is sent.
 * @param issuers Those of the configuration.
 */
export async function sendToProvider(
  { url, method, headers, body }: PlaygroundRequest,
  issuers: readonly string[],
  signal: AbortSignal,
): Promise<RelayedResponse | undefined> {
  const isKnown = method === "GET"
    ? issuers.some((issuer) => metadataUrls(issuer).includes(url.href))
    : method === "POST" && await isEndpoint(url.href, issuers, signal);
  if (!isKnown) return undefined;
  const response = await fetch(url, {
    method,
    headers: {
      accept: "application/json",
      ...(method === "POST"
        ? { "content-type": headers["content-type"] ?? "application/json" }
        : {}),
    },
    ...(body === undefined ? {} : { body }),
    redirect: "manual",
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  return {
    status: response.status,
    headers: [...response.headers],
    body: response.body ?? ReadableStream.from<Uint8Array>([]),
  };
}

async function isEndpoint(
  href: string,
  issuers: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const issuer of issuers) {
    if ((await endpointsOf(issuer, signal)).includes(href)) return true;
  }
  return false;
}

/** Returns the endpoints that the metadata of an issuer names; none when there is no valid metadata. */
async function endpointsOf(
  issuer: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  for (const url of metadataUrls(issuer)) {
    const metadata = await fetchJson(url, signal);
    if (!isJsonObject(metadata) || metadata["issuer"] !== issuer) continue;
    return ["token_endpoint", "registration_endpoint"].flatMap((name) => {
      const endpoint = URL.parse(stringMember(metadata, name) ?? "");
      return endpoint === null ? [] : [endpoint.href];
    });
  }
  return [];
}

async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
  try {
    const response = await fetch(url, {
      headers: { accept: "application/json" },
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > MAX_METADATA_BYTES) return undefined;
    }
    return response.ok ? parseJson(text) : undefined;
  } catch (error) {
    // The provider is away: none of its endpoints is known.
    if (signal.aborted) throw error;
    return undefined;
  }
}

function metadataUrls(issuer: string): readonly string[] {
  const url = URL.parse(issuer);
  return url !== null && /^https?:$/.test(url.protocol)
    ? serverMetadataUrls(url)
    : [];
}
