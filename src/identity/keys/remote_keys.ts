import type { Clock } from "../../base/clock.ts";
import {
  DocumentCoolDownError,
  type DocumentState,
} from "../documents/remote_document.ts";
import {
  type DocumentServices,
  ProviderDocument,
} from "../documents/provider_document.ts";
import {
  describeLocation,
  fetchKeyText,
  type KeyLocation,
} from "./key_location.ts";
import { type KeySet, type KeySource, readKeySet } from "./key_set.ts";

/** State of a key set for the admin interface. */
export interface KeySetState extends DocumentState {
  /** URL, file or `inline`. */
  readonly source: string;
  /** Number of usable keys. */
  readonly keys: number;
  /** Key IDs of the usable keys, cut off after 64 characters. */
  readonly kids: readonly string[];
  /** The first twenty unusable keys with the reason: `"k2": not for signatures`. */
  readonly leftOutKeys: readonly string[];
}

const MAX_LEFT_OUT_KEYS = 20;
const MAX_KID_LENGTH = 64;
const MAX_WITHDRAWN_KEYS = 20;
const COOL_DOWN_MS = 10_000;
/** Requests that may wait for newer keys at a time. */
const MAX_WAITING = 256;
/** Requests that may fail within a cool-down because their tokens are newer than the keys. */
const MAX_UNDECIDED = 32;

/** The keys of one location. */
export class RemoteKeys extends ProviderDocument<KeySet> implements KeySource {
  readonly #clock: Clock;
  #waiting = 0;
  #undecided = 0;
  #undecidedSince = -Infinity;

  constructor(location: KeyLocation, services: DocumentServices) {
    const { log, clock } = services;
    const source = describeLocation(location);
    super({
      name: source,
      place: location.kind === "remote"
        ? { kind: "jwks", address: location.address }
        : undefined,
      // Keys in the configuration are always the newest.
      coolDownMs: location.kind === "inline" ? 0 : COOL_DOWN_MS,
      fetch: () => fetchKeyText(location, services),
      read: createReader(),
      messages: {
        available: "Keys are available again",
        unavailable: "Cannot fetch keys",
        unusable: "Cannot use cached keys",
      },
      onFetched: ({ keys, ignored }) =>
        log.debug("Keys fetched", {
          source,
          keys: keys.length,
          ...(ignored.length > 0 && { ignored }),
        }),
    }, services);
    this.#clock = clock;
  }

  /**
   * Anybody can name a key that no provider has. So beyond a number of requests, keys that the provider published a moment ago are the
   * newest: such tokens are rejected, in place of requests that fail.
   */
  override async newer(than: KeySet, issuedBy?: number): Promise<KeySet> {
    if (this.#waiting >= MAX_WAITING) return than;
    this.#waiting++;
    try {
      return await super.newer(than, issuedBy);
    } catch (error) {
      const isOutage = !(error instanceof DocumentCoolDownError);
      if (isOutage || this.#mayFail()) throw error;
      return than;
    } finally {
      this.#waiting--;
    }
  }

  /** Fetches the keys ahead of the first request; only logs a failure. */
  warmUp(): void {
    const keys = this.get();
    if (keys instanceof Promise) keys.catch(() => {});
  }

  override describe(): KeySetState {
    const { keys = [], ignored = [] } = this.current ?? {};
    return {
      ...super.describe(),
      keys: keys.length,
      kids: keys.flatMap(({ kid }) => kid?.slice(0, MAX_KID_LENGTH) ?? []),
      leftOutKeys: ignored.slice(0, MAX_LEFT_OUT_KEYS),
    };
  }

  #mayFail(): boolean {
    const now = this.#clock.monotonic();
    if (now - this.#undecidedSince >= COOL_DOWN_MS) {
      this.#undecidedSince = now;
      this.#undecided = 0;
    }
    return ++this.#undecided <= MAX_UNDECIDED;
  }
}

/** Returns a reader that returns the same set for the same JSON, so that cached tokens stay valid when a refresh changed nothing. */
function createReader(): (text: string) => Promise<KeySet> {
  let last: { readonly text: string; readonly set: KeySet } | undefined;
  return async (text) => {
    if (last?.text === text) return last.set;
    const { keys = [], withdrawn = [] } = last?.set ?? {};
    const known = [...keys, ...withdrawn].slice(0, MAX_WITHDRAWN_KEYS);
    const set = { ...await readKeySet(text), withdrawn: known };
    last = { text, set };
    return set;
  };
}
