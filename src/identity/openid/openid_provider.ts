import {
  loadOAuthLibrary,
  type ServerMetadata,
} from "../backend_tokens/oauth_library.ts";
import {
  type ServerRequestOptions,
  ServerRequests,
} from "../backend_tokens/server_requests.ts";
import {
  DocumentUnavailableError,
  RemoteDocument,
} from "../documents/remote_document.ts";
import { type KeySet, readKeySet } from "../keys/key_set.ts";
import { OAuthError } from "../oauth/protocol/oauth_error.ts";

const FRESH_MS = 5 * 60_000;
/** Documents of a provider that is away are used for so long. */
const MAX_AGE_MS = 24 * 60 * 60_000;
/** Keys that are unknown lead to one fetch in this time. */
const NEW_KEYS_MS = 30_000;

/**
 * The published documents of an OpenID provider: metadata and keys. Requests that need the same one wait for one fetch, which goes
 * on when they end.
 */
export class OpenIdProvider {
  readonly #issuer: string;
  readonly #requests: ServerRequests;
  readonly #metadata: RemoteDocument<ServerMetadata>;
  readonly #keys: RemoteDocument<KeySet>;

  constructor(issuer: string, options: ServerRequestOptions) {
    const { clock } = options;
    const common = { clock, maxAgeMs: MAX_AGE_MS, coolDownMs: NEW_KEYS_MS };
    const now = () => ({ fetchedAt: clock.now(), freshMs: FRESH_MS });
    this.#issuer = issuer;
    this.#requests = new ServerRequests(options);
    this.#metadata = new RemoteDocument({
      ...common,
      fetch: async () => ({ ...now(), ...await this.#fetchMetadata() }),
    });
    this.#keys = new RemoteDocument({
      ...common,
      fetch: async () => ({ ...now(), ...await this.#fetchKeys() }),
    });
  }

  /** Returns the metadata. @throws {OAuthError} When they are not available, or not those of the issuer. */
  async metadata(): Promise<ServerMetadata> {
    try {
      return await this.#metadata.get();
    } catch (error) {
      if (!(error instanceof DocumentUnavailableError)) throw error;
      const { cause, retryAfter } = error;
      throw new OAuthError(
        "temporarily_unavailable",
        "the identity provider is not available",
        cause instanceof Error ? cause.message : undefined,
        retryAfter,
      );
    }
  }

  /**
   * Returns the keys.
   * @param than Keys that do not have the one that is wanted; newer ones are fetched, if that was not done just now.
   * @throws {DocumentUnavailableError}
   */
  async keys(than?: KeySet): Promise<KeySet> {
    return than === undefined
      ? await this.#keys.get()
      : await this.#keys.newer(than);
  }

  async #fetchMetadata() {
    const oauth = await loadOAuthLibrary();
    const url = new URL(this.#issuer);
    const response = await oauth.discoveryRequest(
      url,
      this.#requests.options(this.#issuer, oauth),
    );
    const text = await response.clone().text();
    const value = await oauth.processDiscoveryResponse(url, response);
    const protocol = URL.parse(value.authorization_endpoint ?? "")?.protocol;
    if (protocol !== "https:" && protocol !== url.protocol) {
      throw new TypeError("expected an authorization endpoint over HTTPS");
    }
    return { text, value };
  }

  async #fetchKeys() {
    const { jwks_uri: url = "" } = await this.metadata();
    const headers = { accept: "application/json, application/jwk-set+json" };
    const response = await this.#requests.fetch(url, { headers });
    const text = await response.text();
    return { text, value: await readKeySet(text) };
  }
}
