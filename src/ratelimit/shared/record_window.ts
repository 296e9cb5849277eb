import type { BudgetWindow } from "../budget/budget_window.ts";

/** Numbers of a record: what is used, when its window opened, and what each thread holds. */
const USED_AMOUNT = 0;
const OPENED_AT = 1;
const HELD = 2;

/** Returns how many numbers a record has. @param holders Threads that may hold something. */
export function numbersOf(holders: number): number {
  return HELD + holders;
}

/** Budget of the record at a place of the numbers. */
export class RecordWindow implements BudgetWindow {
  readonly #numbers: Float64Array;
  readonly #holders: number;
  readonly #holder: number;
  at = 0;

  constructor(
    numbers: Float64Array,
    { holders, holder }: { readonly holders: number; readonly holder: number },
  ) {
    this.#numbers = numbers;
    this.#holders = holders;
    this.#holder = holder;
  }

  get used(): number {
    return this.#numbers[this.at + USED_AMOUNT] ?? 0;
  }

  set used(used: number) {
    this.#numbers[this.at + USED_AMOUNT] = used;
  }

  get openedAt(): number {
    return this.#numbers[this.at + OPENED_AT] ?? 0;
  }

  set openedAt(openedAt: number) {
    this.#numbers[this.at + OPENED_AT] = openedAt;
  }

  /** Added up on each access, so that a thread that dies leaves no sum that is half updated. */
  get held(): number {
    let sum = 0;
    for (let holder = 0; holder < this.#holders; holder++) {
      sum += this.#numbers[this.at + HELD + holder] ?? 0;
    }
    return sum;
  }

  addHeld(amount: number): void {
    const place = this.at + HELD + this.#holder;
    this.#numbers[place] = Math.max(0, (this.#numbers[place] ?? 0) + amount);
  }

  dropHeld(): void {
    this.#numbers.fill(0, this.at + HELD, this.at + HELD + this.#holders);
  }

  dropHeldOf(holder: number): void {
    if (holder < this.#holders) this.#numbers[this.at + HELD + holder] = 0;
  }
}
