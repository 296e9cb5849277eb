/** Limit of waiting work per lane. */
const MAX_IN_LANE = 32;
/** Limit of waiting work in all lanes. */
const MAX_WAITING = 1024;

/** Called with true when the turn has come, with false to drop the work. */
type Waiting = (isTurn: boolean) => void;

/**
 * Runs slow work one at a time, for each lane in turn, so that a full lane does not delay the others.
 *
 * A full lane drops one of its entries at random, so that clients that retry get a turn eventually, however many others there are.
 */
export class TurnQueue {
  /** Lanes in the order of their turns. */
  readonly #lanes = new Map<string, Waiting[]>();
  readonly #random: () => number;
  #waiting = 0;
  #isWorking = false;

  /** @param random From 0 to 1, 1 excluded. */
  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Runs the work when its turn comes; returns `undefined` if it was dropped. */
  async run<Result>(
    lane: string,
    work: () => Promise<Result>,
  ): Promise<Result | undefined> {
    if (this.#isWorking) {
      const isTurn = await new Promise<boolean>((resolve) =>
        this.#enter(lane, resolve)
      );
      if (!isTurn) return undefined;
    }
    this.#isWorking = true;
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #enter(lane: string, waiting: Waiting): void {
    const queue = this.#lanes.get(lane) ?? [];
    if (queue.length === 0) this.#lanes.set(lane, queue);
    queue.push(waiting);
    this.#waiting++;
    if (queue.length > MAX_IN_LANE) this.#dropOne(queue);
    else if (this.#waiting > MAX_WAITING) {
      const lengths = [...this.#lanes.values()];
      this.#dropOne(lengths.reduce((a, b) => b.length > a.length ? b : a));
    }
  }

  #dropOne(queue: Waiting[]): void {
    const index = Math.floor(this.#random() * queue.length);
    const [waiting] = queue.splice(index, 1);
    this.#waiting--;
    waiting?.(false);
  }

  #next(): void {
    for (const [lane, queue] of this.#lanes) {
      this.#lanes.delete(lane);
      const waiting = queue.shift();
      if (waiting === undefined) continue;
      if (queue.length > 0) this.#lanes.set(lane, queue);
      this.#waiting--;
      // Without a pause: work that arrives now must not run in between.
      return waiting(true);
    }
    this.#isWorking = false;
  }
}
