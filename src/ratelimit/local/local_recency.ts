import type { LocalBudget } from "./local_budget.ts";

/**
 * Budgets by key, in order of last use.
 *
 * The order is a linked list through the budgets. A `Map` keeps an order as well, but finding its first entry gets slow after many
 * deletions there.
 */
export class LocalRecency {
  readonly #byKey = new Map<string, LocalBudget>();
  #oldest: LocalBudget | undefined;
  #newest: LocalBudget | undefined;

  get size(): number {
    return this.#byKey.size;
  }

  get oldest(): LocalBudget | undefined {
    return this.#oldest;
  }

  values(): Iterable<LocalBudget> {
    return this.#byKey.values();
  }

  /** Returns the budget of the key and makes it the most recent one. */
  use(key: string): LocalBudget | undefined {
    const budget = this.#byKey.get(key);
    if (budget !== undefined && budget !== this.#newest) {
      this.#unlink(budget);
      this.#link(budget);
    }
    return budget;
  }

  add(budget: LocalBudget): void {
    this.#byKey.set(budget.key, budget);
    this.#link(budget);
  }

  delete(budget: LocalBudget): void {
    this.#byKey.delete(budget.key);
    this.#unlink(budget);
  }

  #link(budget: LocalBudget): void {
    budget.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = budget;
    else this.#newest.newer = budget;
    this.#newest = budget;
  }

  #unlink(budget: LocalBudget): void {
    const { older, newer } = budget;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    budget.older = budget.newer = undefined;
  }
}
