import { Cancellation } from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import { setNewest } from "../../../base/kept_values.ts";
import { type KeySet, type KeySource, readKeySet } from "../../keys/key_set.ts";
import { OAuthError } from "../protocol/oauth_error.ts";
import type { ClientDocuments } from "./client_documents.ts";
import type { OAuthClient } from "./oauth_client.ts";

interface KnownKeys {
  readonly keys: Promise<KeySet>;
  readonly fetchedAt: number;
}

const FRESH_MS = 10 * 60_000;
/** Keys that a client has just added are found after this time; until then, one cannot make the gateway fetch again and again. */
const COOL_DOWN_MS = 30_000;
const MAX_KNOWN = 1000;

/** The keys of clients that metadata documents describe. */
export class ClientKeys {
  readonly #documents: Pick<ClientDocuments, "fetchKeys">;
  readonly #clock: Pick<Clock, "now">;
  readonly #known = new Map<string, KnownKeys>();

  constructor(
    documents: Pick<ClientDocuments, "fetchKeys">,
    clock: Pick<Clock, "now">,
  ) {
    this.#documents = documents;
    this.#clock = clock;
  }

  /** Returns the keys of a client; `undefined` for one that does not sign. Both functions reject with `invalid_client`. */
  of({ keys }: OAuthClient): KeySource | undefined {
    if (keys === undefined) return undefined;
    if ("jwks" in keys) {
      const own = read(keys.jwks);
      own.catch(() => {});
      return { get: () => own, newer: (than) => Promise.resolve(than) };
    }
    const { url } = keys;
    return {
      get: () => this.#get(url, FRESH_MS),
      newer: () => this.#get(url, COOL_DOWN_MS),
    };
  }

  #get(url: string, maxAgeMs: number): Promise<KeySet> {
    const now = this.#clock.now();
    const known = this.#known.get(url);
    if (known !== undefined && now - known.fetchedAt < maxAgeMs) {
      return known.keys;
    }
    const keys = this.#documents.fetchKeys(url, new Cancellation()).then(read);
    keys.catch(() => {});
    setNewest(this.#known, url, { keys, fetchedAt: now }, MAX_KNOWN);
    return keys;
  }
}

async function read(text: string): Promise<KeySet> {
  try {
    return await readKeySet(text);
  } catch (error) {
    throw new OAuthError(
      "invalid_client",
      "the keys of the client cannot be used",
      describeError(error),
    );
  }
}
