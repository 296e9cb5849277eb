import { systemClock } from "../../../src/base/clock.ts";
import { KvStore } from "../../../src/kv/kv_store.ts";

/** Time between two writes. */
const PAUSE_MS = 50;
/** Longer than any drill. */
const DEADLINE_MS = 600_000;

/** Writes to a store beside its gateways, which shows whether it stood still. */
export class StoreProbe {
  readonly #store: KvStore;
  readonly #writing: Promise<number>;
  #isDone = false;

  /** @param path File or URL of the store. */
  constructor(path: string) {
    this.#store = new KvStore({
      store: path,
      clock: systemClock,
      deadlineMs: DEADLINE_MS,
    });
    this.#writing = this.#write();
  }

  /** Returns how long the longest write took, in milliseconds. */
  async stop(): Promise<number> {
    this.#isDone = true;
    const longest = await this.#writing;
    await this.#store.close();
    return longest;
  }

  async #write(): Promise<number> {
    let longest = 0;
    while (!this.#isDone) {
      const startedAt = performance.now();
      await this.#store.update(["probe"], () => ({ value: startedAt }));
      longest = Math.max(longest, performance.now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return longest;
  }
}
