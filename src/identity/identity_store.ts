import { Cancellation } from "../base/cancellation.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log/log.ts";
import { SharedMap } from "../base/shared_map.ts";
import type { EgressPolicy } from "../base/wire/egress_policy.ts";
import type { JsonObject } from "../base/json.ts";
import { ServerRequests } from "./backend_tokens/server_requests.ts";
import {
  addressOfUrl,
  type DocumentAddress,
} from "./documents/document_client.ts";
import {
  appendedMetadataUrl,
  insertedMetadataUrl,
} from "./providers/provider_urls.ts";
import {
  Introspection,
  type IntrospectionServer,
} from "./tokens/introspection.ts";
import { TokenIntrospector } from "./tokens/token_introspector.ts";
import type {
  DocumentCache,
  DocumentPlace,
  SharedDocuments,
} from "./documents/document_cache.ts";
import type { KeyLocation } from "./keys/key_location.ts";
import { type KeySetState, RemoteKeys } from "./keys/remote_keys.ts";
import type { RemoteDocument } from "./documents/remote_document.ts";
import type {
  DocumentServices,
  ProviderDocument,
} from "./documents/provider_document.ts";
import {
  createRemoteMetadata,
  type RemoteMetadata,
} from "./documents/remote_metadata.ts";
import {
  TokenVerifier,
  type TokenVerifierOptions,
} from "./tokens/token_verifier.ts";

/** The entries of the store that a configuration uses, until it releases them. */
export interface IdentityLease {
  /** Returns the keys of a location; equal locations share them, also across configurations. */
  keys(location: KeyLocation): RemoteKeys;
  /** Returns the metadata of an authorization server, shared likewise. */
  metadata(addresses: readonly DocumentAddress[]): RemoteMetadata;
  /** Returns one of these documents, for copies in other threads. */
  document(
    place: DocumentPlace,
  ): Pick<RemoteDocument<unknown>, "latest" | "fresh">;
  /** Creates what asks an authorization server about tokens. */
  introspector(
    server: Omit<IntrospectionServer, "metadata"> & {
      /** Of the server; `undefined` for that of its issuer. */
      readonly metadata: JsonObject | undefined;
    },
    cacheMs: number,
  ): TokenIntrospector;
  /** Creates a token verifier; the store reports on it until the lease is released. */
  verifier(options: TokenVerifierOptions): TokenVerifier;
  /** Drops entries without other users; requests in progress may continue to use them. */
  release(): void;
}

/** Dependencies of the store. */
export interface IdentityStoreOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Decides which servers may be asked. */
  readonly egress: EgressPolicy;
  readonly cache: DocumentCache;
  /** Set when another thread fetches documents, for several. */
  readonly shared?: SharedDocuments | undefined;
}

/** Keys and metadata of identity providers, shared across configurations. */
export class IdentityStore {
  readonly #closing = new Cancellation();
  readonly #services: DocumentServices;
  readonly #keys = new SharedMap<RemoteKeys>();
  readonly #metadata = new SharedMap<RemoteMetadata>();
  readonly #verifiers = new Set<TokenVerifier>();

  constructor(options: IdentityStoreOptions) {
    this.#services = { ...options, cancellation: this.#closing };
  }

  lease(): IdentityLease {
    const releases: (() => void)[] = [];
    const share = <T extends ProviderDocument<unknown>>(
      map: SharedMap<T>,
      key: unknown,
      create: () => T,
    ): T => {
      const { value, release } = map.acquire(
        JSON.stringify(key),
        create,
        (value) => value.release(),
      );
      releases.push(release);
      return value;
    };
    const services = this.#services;
    const keys = (location: KeyLocation) =>
      share(this.#keys, location, () => new RemoteKeys(location, services));
    const metadata = (addresses: readonly DocumentAddress[]) =>
      share(
        this.#metadata,
        addresses,
        () => createRemoteMetadata(addresses, services),
      );
    return {
      keys,
      metadata,
      document: (place) =>
        place.kind === "jwks"
          ? keys({ kind: "remote", address: place.address })
          : metadata(place.addresses),
      introspector: ({ metadata: own, ...server }, cacheMs) => {
        const { issuer } = server;
        const remote = own === undefined
          ? metadata(
            [insertedMetadataUrl(issuer), appendedMetadataUrl(issuer)]
              .map((url) => addressOfUrl(url)),
          )
          : undefined;
        const { clock } = services;
        const introspection = new Introspection(
          { ...server, metadata: () => remote?.get() ?? own ?? {} },
          { requests: new ServerRequests(services), clock },
        );
        return new TokenIntrospector(introspection, { clock, cacheMs });
      },
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

  /** Describes all key sets in use, each with the issuers whose tokens it verifies, and the policies that use it. */
  describe() {
    return [...this.#keys.values()].map((keys) => {
      const issuers = new Set<string>();
      const policies = new Set<string>();
      for (const verifier of this.#verifiers) {
        const own = verifier.issuersOf(keys);
        for (const issuer of own) issuers.add(issuer);
        if (own.length > 0 && verifier.owner !== undefined) {
          policies.add(verifier.owner);
        }
      }
      return {
        issuers: [...issuers],
        policies: [...policies],
        ...keys.describe(),
      };
    });
  }

  /** Describes the key sets that this store fetches itself. */
  fetched(): readonly KeySetState[] {
    return [...this.#keys.values()].filter(({ isShared }) => !isShared)
      .map((keys) => keys.describe());
  }

  /** Describes the metadata of all authorization servers in use. */
  describeMetadata() {
    return [...this.#metadata.values()].map((each) => ({ ...each.describe() }));
  }

  /** Returns the token cache occupancy of all verifiers in use. */
  cachedTokens(): TokenVerifier["occupancies"] {
    return [...this.#verifiers].flatMap(({ occupancies }) => occupancies);
  }

  /** Fetches keys that were not fetched yet, so that the first request need not wait for them. */
  warmUp(): void {
    for (const keys of this.#keys.values()) keys.warmUp();
  }

  /** Fetches all keys now, and the metadata that was used before; resolves when the last fetch has ended, and never rejects. */
  async refetch(): Promise<void> {
    const used = [...this.#metadata.values()].filter((each) =>
      each.describe().refreshes > 0
    );
    await Promise.all(
      [...this.#keys.values(), ...used].map((each) => each.refetch()),
    );
  }

  /** Aborts all fetches; requests that wait for them get an error. */
  async close(): Promise<void> {
    this.#closing.cancel(new Error("the gateway is stopping"));
    await this.#services.cache.close();
  }
}
