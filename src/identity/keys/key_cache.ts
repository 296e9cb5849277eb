import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { redactUrl } from "../../base/redaction.ts";

/** The text of a key set and when it was fetched. */
export interface CachedKeys {
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly fetchedAt: number;
  readonly freshMs: number;
}

/** Keeps key sets over restarts, for all processes that share it. Nothing of it ever rejects or waits for long. */
export interface KeyCache {
  /** @param source Whose keys they are, such as a digest: nobody else may be believed to have them. */
  load(source: string): Promise<CachedKeys | undefined>;
  save(source: string, keys: CachedKeys): Promise<void>;
  close(): Promise<void>;
}

/** A cache that forgets at once. */
export const noKeyCache: KeyCache = {
  load: () => Promise.resolve(undefined),
  save: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** What the cache in Deno KV needs. */
export interface KvKeyCacheOptions {
  /** File, or URL of a remote store. */
  readonly store: string;
  readonly clock: Clock;
  readonly log: Log;
}

const PATIENCE_MS = 2000;
/** A value of Deno KV has at most 64 KiB. */
const MAX_TEXT_LENGTH = 60_000;
const KEEP_MS = 24 * 60 * 60 * 1000;

/** A cache in Deno KV. A store that is missing, locked or corrupt is logged, and traffic goes on without it. */
export class KvKeyCache implements KeyCache {
  readonly #options: KvKeyCacheOptions;
  readonly #kv: Promise<Deno.Kv | undefined>;
  readonly #saving = new Set<Promise<void>>();

  constructor(options: KvKeyCacheOptions) {
    this.#options = options;
    this.#kv = this.#open(options.store);
  }

  async load(source: string): Promise<CachedKeys | undefined> {
    const entry = await this.#attempt(
      "read",
      async () => await (await this.#kv)?.get(["jwks", source]),
    );
    return decodeCachedKeys(entry?.value);
  }

  save(source: string, keys: CachedKeys): Promise<void> {
    const saving = this.#write(source, keys);
    this.#saving.add(saving);
    return saving.finally(() => this.#saving.delete(saving));
  }

  /** What is being saved is saved first. */
  async close(): Promise<void> {
    await Promise.all(this.#saving);
    (await this.#kv)?.close();
  }

  async #write(source: string, keys: CachedKeys): Promise<void> {
    if (keys.text.length > MAX_TEXT_LENGTH) return;
    await this.#attempt(
      "write",
      async () =>
        await (await this.#kv)?.set(["jwks", source], keys, {
          expireIn: KEEP_MS,
        }),
    );
  }

  async #open(store: string): Promise<Deno.Kv | undefined> {
    let opening: Promise<Deno.Kv> | undefined;
    const kv = await this.#attempt(
      "open",
      () => opening = Deno.openKv(store),
    );
    // What opens after all is closed again.
    if (kv === undefined) opening?.then((late) => late.close(), () => {});
    return kv;
  }

  /** `undefined` when it fails or takes too long. */
  async #attempt<T>(
    what: string,
    action: () => Promise<T>,
  ): Promise<T | undefined> {
    const { clock, log, store } = this.#options;
    const late = Promise.withResolvers<never>();
    const stopTimer = clock.setTimer(
      () => late.reject(new Error(`no answer after ${PATIENCE_MS} ms`)),
      PATIENCE_MS,
    );
    try {
      return await Promise.race([action(), late.promise]);
    } catch (error) {
      log.warn(`Cannot ${what} the key cache`, {
        store: redactUrl(store),
        error,
      });
      return undefined;
    } finally {
      stopTimer();
    }
  }
}

function decodeCachedKeys(value: unknown): CachedKeys | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (!("text" in value && "fetchedAt" in value && "freshMs" in value)) {
    return undefined;
  }
  const { text, fetchedAt, freshMs } = value;
  return typeof text === "string" && typeof fetchedAt === "number" &&
      typeof freshMs === "number"
    ? { text, fetchedAt, freshMs }
    : undefined;
}
