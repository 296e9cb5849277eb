import { type Clock, recentTime } from "../../base/clock.ts";
import { setNewest } from "../../base/kept_values.ts";
import type {
  Caller,
  TokenCredentials,
  UserLogin,
} from "./backend_credentials.ts";
import { type KeptToken, keyOf, type TokenFailure } from "./kept_token.ts";
import type { ProofKey } from "./proof_key.ts";

const MAX_TOKENS = 8192;
/** Which of two was used last is known to this precision: a `Map` that changes with each request leaves much garbage. */
const ORDER_MS = 1000;

/** State of the token for one key; times are monotonic, in milliseconds. */
export interface TokenEntry {
  /** When it has been moved behind all others. */
  movedAt: number;
  current: KeptToken | undefined;
  pending: Promise<KeptToken> | undefined;
  failure: TokenFailure | undefined;
  /** The token that the backend has rejected last, and when it was replaced. */
  rejected: string | undefined;
  replacedAt: number;
  /** The backend wants proofs. */
  needsProof: boolean;
  /** Key of the login of the user. */
  proofKey: ProofKey | undefined;
}

/** Entries of the most recent users, servers, resources and clients. */
export class TokenEntries {
  readonly #clock: Clock;
  /** By key; those that were used least recently first. */
  readonly #entries = new Map<string, TokenEntry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Forgets an entry. */
  delete(...key: Parameters<typeof keyOf>): void {
    this.#entries.delete(keyOf(...key));
  }

  /** Returns the entry of a user, which is the newest now. */
  entryOf(
    credentials: TokenCredentials | UserLogin,
    caller: Caller | undefined,
  ): TokenEntry {
    const key = keyOf(credentials, caller);
    const known = this.#entries.get(key);
    const now = recentTime(this.#clock);
    if (known !== undefined && now < known.movedAt + ORDER_MS) return known;
    const entry = known ?? {
      movedAt: now,
      current: undefined,
      pending: undefined,
      failure: undefined,
      rejected: undefined,
      replacedAt: -Infinity,
      needsProof: false,
      proofKey: undefined,
    };
    entry.movedAt = now;
    setNewest(this.#entries, key, entry, MAX_TOKENS);
    return entry;
  }
}
