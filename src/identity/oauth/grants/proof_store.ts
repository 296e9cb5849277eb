import type { Clock } from "../../../base/clock.ts";

/** Records used proofs of possession until they expire (RFC 9449 section 11.1). */
export interface ProofStore {
  /**
   * Marks a proof as used; resolves to `false` if it was used before. Rejects when the store is full or not available.
   * @param key Thumbprint of the key that signed it.
   * @param id Digest of its `jti`.
   */
  spend(key: string, id: string, untilMs: number): Promise<boolean>;
}

/** Each entry takes about 150 bytes. */
const MAX_PROOFS = 200_000;
/** Share of one key, so that a client cannot fill the memory of all. */
const MAX_PER_KEY = 20_000;

/** Records proofs in the memory of this process. */
export class MemoryProofStore implements ProofStore {
  readonly #clock: Clock;
  /** Ends of the proofs of a key, by their IDs. */
  readonly #byKey = new Map<string, Map<string, number>>();
  #size = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  spend(key: string, id: string, untilMs: number): Promise<boolean> {
    const now = this.#clock.now();
    const known = this.#byKey.get(key) ?? new Map<string, number>();
    this.#forgetExpired(key, known, now);
    if (known.has(id)) return Promise.resolve(false);
    if (this.#size >= MAX_PROOFS) {
      for (const [each, proofs] of this.#byKey) {
        this.#forgetExpired(each, proofs, now);
      }
    }
    if (this.#size >= MAX_PROOFS || known.size >= MAX_PER_KEY) {
      return Promise.reject(new Error("too many proofs are in use"));
    }
    known.set(id, untilMs);
    this.#byKey.set(key, known);
    this.#size++;
    return Promise.resolve(true);
  }

  /** Forgets the oldest proofs of a key: they end about in the order in which they came. */
  #forgetExpired(key: string, proofs: Map<string, number>, now: number): void {
    for (const [id, untilMs] of proofs) {
      if (now < untilMs) break;
      proofs.delete(id);
      this.#size--;
    }
    if (proofs.size === 0) this.#byKey.delete(key);
  }
}
