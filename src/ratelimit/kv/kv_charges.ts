import type { Charge } from "./kv_record.ts";

/** Windows whose charges are kept while the store is down; charges of older windows are merged. */
const MAX_WINDOWS = 4;

/** Charges not yet written to the record of a budget: token debits, and returned leases as negative amounts. */
export class PendingCharges {
  #pending: Charge[] = [];
  #settling: readonly Charge[] = [];

  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  /** Sum of all charges, including those being written. */
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

  /** Returns the charges to write now; call `settled` or `restore` afterwards. */
  begin(): readonly Charge[] {
    this.#settling = this.#pending;
    this.#pending = [];
    return this.#settling;
  }

  settled(): void {
    this.#settling = [];
  }

  /** Keeps debits and drops returned leases: after a failure the write may or may not have been done. */
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
