import type { Clock } from "../../base/clock.ts";
import { setNewest } from "../../base/kept_values.ts";
import { recordKey, type VaultId } from "./vault_seal.ts";

/** While a server does not respond, a token that has not ended is used for so long before the next attempt. */
const PAUSE_MS = 10_000;
const MAX_PAUSES = 8192;

/** Records whose tokens could not be renewed a moment ago; the oldest are forgotten. */
export class RenewalPauses {
  readonly #clock: Clock;
  /** Monotonic times at which they end. */
  readonly #ends = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a pause. */
  begin(id: VaultId): void {
    const end = this.#clock.monotonic() + PAUSE_MS;
    setNewest(this.#ends, String(recordKey(id)), end, MAX_PAUSES);
  }

  /** Reports whether a record has one now. */
  has(id: VaultId): boolean {
    const end = this.#ends.get(String(recordKey(id))) ?? -Infinity;
    return this.#clock.monotonic() < end;
  }
}
