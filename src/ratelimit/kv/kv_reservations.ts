import { type BudgetRecord, take } from "./kv_record.ts";

/** A request for a part of a budget. */
export interface Reservation {
  readonly amount: number;
  /** `undefined` until the store has decided. */
  isGranted: boolean | undefined;
  /** Nobody waits for it any more. */
  isCancelled: boolean;
}

/** Decisions of an exchange with the store, before it has succeeded. */
export type ReservationVerdicts = ReadonlyMap<Reservation, boolean>;

/** Reservations of a bucket that wait for an exchange with the store. */
export class Reservations {
  readonly #waiting = new Set<Reservation>();
  #held = 0;

  /** Sum of the reservations that are in use. */
  get held(): number {
    return this.#held;
  }

  add(amount: number): Reservation {
    const reservation = { amount, isGranted: undefined, isCancelled: false };
    this.#waiting.add(reservation);
    return reservation;
  }

  delete(reservation: Reservation): void {
    this.#waiting.delete(reservation);
  }

  /** Ends a reservation that is in use, maybe one of an evicted bucket. */
  end(amount: number): void {
    this.#held = Math.max(0, this.#held - amount);
  }

  /** Takes from a record what fits, in the order of the requests. */
  decide(
    record: BudgetRecord,
    capacity: number,
  ): {
    readonly record: BudgetRecord;
    readonly verdicts: ReservationVerdicts;
  } {
    const verdicts = new Map<Reservation, boolean>();
    let reserved = 0;
    for (const each of this.#waiting) {
      const isGranted = record.used + reserved + each.amount <= capacity;
      if (isGranted) reserved += each.amount;
      verdicts.set(each, isGranted);
    }
    return { record: reserved > 0 ? take(record, reserved) : record, verdicts };
  }

  /** Announces what the store has accepted; returns the amount that nobody waits for any more. */
  announce(verdicts: ReservationVerdicts): number {
    let unclaimed = 0;
    for (const [reservation, isGranted] of verdicts) {
      this.#waiting.delete(reservation);
      reservation.isGranted = isGranted;
      if (!isGranted) continue;
      if (reservation.isCancelled) unclaimed += reservation.amount;
      else this.#held += reservation.amount;
    }
    return unclaimed;
  }
}
