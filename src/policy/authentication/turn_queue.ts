/** How many wait in one lane, and in all. */
const MAX_IN_LANE = 32;
const MAX_WAITING = 1024;

/** Called with whether the turn has come; if not, the request is turned away. */
type Waiting = (isTurn: boolean) => void;

/**
 * Does slow work one after the other, for each lane in turn, so that a crowd in one lane does not hold up the others.
 *
 * When a lane is full, one of all who want to wait in it is turned away at random: whoever comes back gets a turn in the end, however
 * often others come.
 */
export class TurnQueue {
  /** In the order of their turns. */
  readonly #lanes = new Map<string, Waiting[]>();
  readonly #random: () => number;
  #waiting = 0;
  #isWorking = false;

  /** @param random From 0 to 1, 1 excluded. */
  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Does the work when its turn comes; `undefined` when too many wait. */
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
    if (queue.length > MAX_IN_LANE) this.#turnAway(queue);
    else if (this.#waiting > MAX_WAITING) {
      const lengths = [...this.#lanes.values()];
      this.#turnAway(lengths.reduce((a, b) => b.length > a.length ? b : a));
    }
  }

  #turnAway(queue: Waiting[]): void {
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
      // The turn passes on at once: nobody who comes now may slip in between.
      return waiting(true);
    }
    this.#isWorking = false;
  }
}
