import type { Charge } from "./kv_record.ts";

/** Windows whose charges wait for a store that is down; those of older ones are put together. */
const MAX_WINDOWS = 4;

/** What the record of a budget has to learn: debits of tokens, and leases given back as charges below 0. */
export class PendingCharges {
  #pending: Charge[] = [];
  #settling: readonly Charge[] = [];

  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  /** All together, also what is on its way. */
  get total(): number {
    let sum = 0;
    for (const { amount } of this.#pending) sum += amount;
    for (const { amount } of this.#settling) sum += amount;
    return sum;
  }

  add(openedAt: number | undefined, amount: number): void {
    const last = this.#pending.at(-1);
    if (last?.openedAt === openedAt && last !== undefined) {
      this.#pending.pop();
      this.#pending.push({ openedAt, amount: last.amount + amount });
    } else {
      this.#pending.push({ openedAt, amount });
    }
    this.#limit();
  }

  /** What to tell the store now; either `settled` or `restore` follows. */
  begin(): readonly Charge[] {
    this.#settling = this.#pending;
    this.#pending = [];
    return this.#settling;
  }

  settled(): void {
    this.#settling = [];
  }

  /**
   * After a failure nobody knows whether it was written: what was used must not get lost, what was given back must not come back twice.
   */
  restore(): void {
    const used = this.#settling.filter(({ amount }) => amount > 0);
    this.#pending.unshift(...used);
    this.#settling = [];
    this.#limit();
  }

  #limit(): void {
    while (this.#pending.length > MAX_WINDOWS) {
      const [oldest, second] = this.#pending.splice(0, 2);
      if (oldest === undefined || second === undefined) return;
      const amount = oldest.amount + second.amount;
      this.#pending.unshift({ openedAt: second.openedAt, amount });
    }
  }
}
