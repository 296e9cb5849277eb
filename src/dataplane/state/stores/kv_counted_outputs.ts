import { createHash } from "node:crypto";
import { inTime } from "../../../base/clock.ts";
import type { Log } from "../../../base/log/log.ts";
import { redactUrl } from "../../../base/redaction.ts";
import { KvStore, type KvStoreOptions } from "../../../kv/kv_store.ts";
import type { CountedOutputs } from "../../../llm/batch/counted_outputs.ts";

/** Dependencies of `KvCountedOutputs`. */
export interface KvCountedOutputsOptions extends KvStoreOptions {
  readonly log: Log;
  /** Used while the store fails. */
  readonly memory: CountedOutputs;
}

const MAX_WAIT_MS = 250;
/** Providers delete outputs after 30 days, or earlier. */
const EXPIRY_MS = 31 * 24 * 60 * 60 * 1000;

/** Remembers charged outputs in Deno KV or Redis, for all processes that share it. */
export class KvCountedOutputs implements CountedOutputs {
  readonly #options: KvCountedOutputsOptions;
  readonly #store: KvStore;

  constructor(options: KvCountedOutputsOptions) {
    this.#options = options;
    this.#store = new KvStore(options);
  }

  async count(id: string): Promise<number> {
    let count = 0;
    const read = () =>
      this.#store.update(keyOf(id), (value) => {
        count = readCount(value);
        return undefined;
      });
    const ofProcess = await this.#options.memory.count(id);
    // A request waits for the store, but not for one that fails: `claim` finds what was charged before, too.
    await inTime(this.#options.clock, MAX_WAIT_MS, this.#succeeds(read));
    return Math.max(count, ofProcess);
  }

  async claim(id: string, to: number): Promise<number> {
    let count = 0;
    const write = () =>
      this.#store.update(keyOf(id), (value) => {
        count = readCount(value);
        return count < to ? { value: to, expireInMs: EXPIRY_MS } : undefined;
      });
    // The memory knows what the store does not, if it has failed in between.
    const { memory } = this.#options;
    const ofProcess = await memory.claim(id, to);
    return await this.#succeeds(write) ? Math.max(count, ofProcess) : ofProcess;
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async #succeeds(action: () => Promise<void>): Promise<boolean> {
    try {
      await action();
      return true;
    } catch (error) {
      const { log, store } = this.#options;
      log.warn(
        "Cannot share which outputs of LLMs were charged; another process may charge them again",
        { store: redactUrl(store), error },
      );
      return false;
    }
  }
}

function keyOf(id: string): Deno.KvKey {
  return ["llm", "counted", createHash("sha256").update(id).digest("hex")];
}

function readCount(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
