import { defineSlot } from "../contract/slot.ts";
import type { BudgetNotice } from "./notice_board.ts";
import type { KeyCaller } from "./key_caller.ts";

/** The keys in the store, as a thread with traffic knows them. */
export interface StoredKeys {
  /**
   * Returns the caller that a key belongs to; `undefined` if there is no such key, `unavailable` if it may be one that this process
   * has not learned of, because the store cannot be reached.
   * @param digest SHA-256 of the key in hexadecimal.
   */
  find(digest: string): KeyCaller | "unavailable" | undefined;
}

/** Services for keys in a store: `undefined` where there is none. */
export const noStoredKeys: StoredKeyServices = {
  follow: () => undefined,
  notify() {},
};

/** Services that `apiKeyAuthentication` needs. */
export interface StoredKeyServices {
  /** Begins to follow the keys in the store; `undefined` without `config.kv`. */
  follow(): StoredKeys | undefined;
  /** Tells whoever wants to know about a budget. */
  notify(notice: BudgetNotice): void;
}

/** Slot of the services that `apiKeyAuthentication` needs. */
export const storedKeyServices = defineSlot<StoredKeyServices>(
  "apiKeyAuthentication",
);
