import { Cancellation } from "../base/cancellation.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { SharedMap } from "../base/shared_map.ts";
import {
  describeAddress,
  type DocumentAddress,
} from "./documents/document_client.ts";
import type { KeyCache } from "./keys/key_cache.ts";
import type { KeyLocation } from "./keys/key_location.ts";
import { RemoteKeys, type RemoteKeysOptions } from "./keys/remote_keys.ts";
import {
  createRemoteMetadata,
  type RemoteMetadata,
} from "./documents/remote_metadata.ts";
import { TokenVerifier, type TokenVerifierOptions } from "./token_verifier.ts";

/** What a configuration uses of the store, until it gives it back. */
export interface IdentityLease {
  /** The keys of a location; equal locations share them, over configurations too. */
  keys(location: KeyLocation): RemoteKeys;
  /** The metadata of an authorization server, shared likewise. */
  metadata(addresses: readonly DocumentAddress[]): RemoteMetadata;
  /** Verifies tokens, and is known to the store until the lease ends. */
  verifier(options: TokenVerifierOptions): TokenVerifier;
  /** What nobody else uses is forgotten; requests under way may go on using it. */
  release(): void;
}

/** What the store needs of its surroundings. */
export interface IdentityStoreOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly cache: KeyCache;
}

/** Keys and metadata of identity providers: they outlive the configurations that name them. */
export class IdentityStore {
  readonly #closing = new Cancellation();
  readonly #options: RemoteKeysOptions;
  readonly #keys = new SharedMap<RemoteKeys>();
  readonly #metadata = new SharedMap<
    { readonly source: string; readonly document: RemoteMetadata }
  >();
  readonly #verifiers = new Set<TokenVerifier>();

  constructor(options: IdentityStoreOptions) {
    this.#options = { ...options, cancellation: this.#closing };
  }

  lease(): IdentityLease {
    const releases: (() => void)[] = [];
    const share = <T>(map: SharedMap<T>, key: unknown, create: () => T): T => {
      const { value, release } = map.acquire(JSON.stringify(key), create);
      releases.push(release);
      return value;
    };
    return {
      keys: (location) =>
        share(
          this.#keys,
          location,
          () => new RemoteKeys(location, this.#options),
        ),
      metadata: (addresses) =>
        share(this.#metadata, addresses, () => ({
          source: addresses.map(describeAddress).join(" or "),
          document: createRemoteMetadata(addresses, this.#options),
        })).document,
      verifier: (options) => {
        const verifier = new TokenVerifier(options);
        this.#verifiers.add(verifier);
        releases.push(() => this.#verifiers.delete(verifier));
        return verifier;
      },
      release() {
        for (const release of releases.splice(0)) release();
      },
    };
  }

  /** Every key set in use. */
  describe() {
    return [...this.#keys.values()].map((keys) => keys.describe());
  }

  /** The metadata of every authorization server in use. */
  describeMetadata() {
    return [...this.#metadata.values()].map(({ source, document }) => ({
      source,
      ...document.describe(),
    }));
  }

  /** How many tokens each verifier in use remembers. */
  rememberedTokens(): readonly TokenVerifier["fill"][] {
    return [...this.#verifiers].map(({ fill }) => fill);
  }

  /** Asks for the keys that were never asked for, so that the first request finds them. */
  warmUp(): void {
    for (const keys of this.#keys.values()) keys.warmUp();
  }

  /** Ends what is being fetched; whoever waits for it hears that there is none. */
  async close(): Promise<void> {
    this.#closing.cancel(new Error("the gateway stops"));
    await this.#options.cache.close();
  }
}
