import type { KeySet } from "./key_set.ts";

/** Where the keys of an identity provider come from. */
export interface KeySource {
  /**
   * The keys now; without a promise when they are at hand.
   * @throws {DocumentUnavailableError} When there are none and none can be had (also as a rejection).
   */
  get(): KeySet | Promise<KeySet>;
  /**
   * Newer keys because `than` lacks one; `than` itself when there are none newer, or it was asked too soon.
   * @throws {DocumentUnavailableError} As a rejection, when it cannot be known whether there are newer ones: the last fetch failed.
   */
  newer(than: KeySet): Promise<KeySet>;
}
