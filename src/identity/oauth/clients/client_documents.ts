import type { Cancellation } from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../base/json.ts";
import type { EgressPolicy } from "../../../base/wire/egress_policy.ts";
import { setNewest } from "../../../base/kept_values.ts";
import { ClientCounts } from "../../../http/server/contract/client_counts.ts";
import { fetchDocument } from "../../documents/document_client.ts";
import { guardedAddress } from "../../documents/guarded_address.ts";
import { clientOfDocument, type OAuthClient } from "./oauth_client.ts";
import { OAuthError } from "../protocol/oauth_error.ts";

const MAX_BYTES = 16 * 1024;
const MAX_URL_LENGTH = 1024;
const FRESH_MS = 10 * 60_000;
/** Failures are cached too: a client cannot make the gateway fetch the same URL again and again. */
const FAILED_MS = 30_000;
const MAX_REMEMBERED = 1000;
const MAX_FETCHES = 128;
/** Share of a host: one that does not respond keeps no clients of others out. */
const MAX_FETCHES_PER_HOST = 8;

/** Dependencies of `ClientDocuments`. */
export interface ClientDocumentsOptions {
  readonly clock: Clock;
  /** Decides which servers may be asked, those of `trustedHosts` too. */
  readonly egress: EgressPolicy;
  /**
   * Hosts with a private address that documents may be fetched from, such as `clients.example.com` or `localhost:8443`.
   */
  readonly trustedHosts: readonly string[];
  /** Resolves a hostname to addresses; with the operating system by default. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
}

interface Remembered {
  readonly result: Promise<OAuthClient>;
  expiresAt: number;
}

/**
 * Fetches the metadata documents of clients whose ID is a URL (draft-ietf-oauth-client-id-metadata-document).
 *
 * The URL comes from an unauthenticated client, so fetches reach public addresses only: a name is resolved once, all its
 * addresses are checked, and the connection goes to a checked address. Redirects are not followed; a document has at most 16 KiB.
 */
export class ClientDocuments {
  readonly #options: ClientDocumentsOptions;
  readonly #remembered = new Map<string, Remembered>();
  readonly #fetching = new ClientCounts();

  constructor(options: ClientDocumentsOptions) {
    this.#options = options;
  }

  /** Returns the client with this URL. @throws {OAuthError} `invalid_client`, or `temporarily_unavailable` during too many fetches. */
  async find(url: string, cancellation: Cancellation): Promise<OAuthClient> {
    const now = this.#options.clock.now();
    const known = this.#remembered.get(url);
    if (known !== undefined && now < known.expiresAt) return await known.result;
    const problem = urlProblem(url);
    if (problem !== undefined) {
      throw new OAuthError("invalid_client", `client_id: ${problem}`);
    }
    this.#expectRoom(url);
    const result = this.#fetch(url, cancellation);
    const entry = { result, expiresAt: now + FRESH_MS };
    this.#remember(url, entry);
    try {
      return await result;
    } catch (error) {
      entry.expiresAt = cancellation.cancelled ? 0 : now + FAILED_MS;
      throw error;
    }
  }

  /** Fetches the key set of a client, with the same limits. @throws {OAuthError} As `find`. */
  async fetchKeys(url: string, cancellation: Cancellation): Promise<string> {
    this.#expectRoom(url);
    const finished = this.#fetching.add(new URL(url).host);
    try {
      return JSON.stringify(await this.#load(url, cancellation));
    } catch (error) {
      throw new OAuthError(
        "invalid_client",
        "the keys of the client cannot be fetched",
        describeError(error),
      );
    } finally {
      finished();
    }
  }

  #expectRoom(url: string): void {
    const isFull = this.#fetching.total() >= MAX_FETCHES ||
      this.#fetching.of(new URL(url).host) >= MAX_FETCHES_PER_HOST;
    if (!isFull) return;
    throw new OAuthError(
      "temporarily_unavailable",
      "too many client metadata documents are being fetched",
      undefined,
      1,
    );
  }

  #remember(url: string, entry: Remembered): void {
    setNewest(this.#remembered, url, entry, MAX_REMEMBERED);
  }

  async #fetch(url: string, cancellation: Cancellation): Promise<OAuthClient> {
    const finished = this.#fetching.add(new URL(url).host);
    try {
      return clientOfDocument(url, await this.#load(url, cancellation));
    } catch (error) {
      if (error instanceof OAuthError) throw error;
      throw new OAuthError(
        "invalid_client",
        "the client metadata document cannot be fetched",
        describeError(error),
      );
    } finally {
      finished();
    }
  }

  async #load(url: string, cancellation: Cancellation): Promise<JsonObject> {
    const { clock, egress, trustedHosts } = this.#options;
    const { status, headers, text } = await fetchDocument(
      await guardedAddress(url, {
        ...this.#options,
        isTrusted: ({ authority }) => trustedHosts.includes(authority),
      }),
      { clock, egress, isLookedUp: true, cancellation, maxBytes: MAX_BYTES },
    );
    if (status !== 200) throw new Error(`expected status 200, got ${status}`);
    const type = headers.get("content-type")?.split(";", 1)[0]?.trim() ?? "";
    if (!/^application\/(?:[\w.-]+\+)?json$/i.test(type)) {
      throw new Error("expected content type application/json");
    }
    const document = parseJson(text);
    if (!isJsonObject(document)) throw new Error("expected a JSON object");
    return document;
  }
}

/** Returns whether a client ID is the URL of a document. */
export function isDocumentUrl(clientId: string): boolean {
  return clientId.startsWith("https://");
}

function urlProblem(text: string): string | undefined {
  if (text.length > MAX_URL_LENGTH) {
    return `longer than ${MAX_URL_LENGTH} characters`;
  }
  const url = URL.parse(text);
  // One spelling per document: the URL is the name of the client.
  if (url === null || url.href !== text) return "not a normalized URL";
  if (url.username !== "" || url.password !== "") return "has user information";
  if (text.includes("#")) return "has a fragment";
  if (url.pathname === "/") return "has no path";
  return undefined;
}
