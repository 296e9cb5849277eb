import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { redactUrl } from "../../base/redaction.ts";

/** The JSON of a key set and the time of its fetch. */
export interface CachedKeys {
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly fetchedAt: number;
  readonly freshMs: number;
}

/** Stores key sets across restarts, for all processes that share it. No method rejects or blocks for long. */
export interface KeyCache {
  /** @param source Identifies the trusted owner of the keys; see `cacheSourceOf`. */
  load(source: string): Promise<CachedKeys | undefined>;
  save(source: string, keys: CachedKeys): Promise<void>;
  close(): Promise<void>;
}

/** A cache that stores nothing. */
export const noKeyCache: KeyCache = {
  load: () => Promise.resolve(undefined),
  save: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** Dependencies of `KvKeyCache`. */
export interface KvKeyCacheOptions {
  /** File, or URL of a remote store. */
  readonly store: string;
  readonly clock: Clock;
  readonly log: Log;
}

const TIMEOUT_MS = 2000;
/** Values in Deno KV are limited to 64 KiB. */
const MAX_TEXT_LENGTH = 60_000;
const EXPIRY_MS = 24 * 60 * 60 * 1000;

/** A cache in Deno KV. Errors of a missing, locked or corrupt store are logged; traffic continues without it. */
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

  /** Closes the store once all saves have finished. */
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
          expireIn: EXPIRY_MS,
        }),
    );
  }

  async #open(store: string): Promise<Deno.Kv | undefined> {
    let opening: Promise<Deno.Kv> | undefined;
    const kv = await this.#attempt(
      "open",
      () => opening = Deno.openKv(store),
    );
    // Closes a store that opens after the time-out.
    if (kv === undefined) opening?.then((late) => late.close(), () => {});
    return kv;
  }

  /** Runs an action; logs an error or time-out and returns `undefined`. */
  async #attempt<T>(
    verb: "open" | "read" | "write",
    action: () => Promise<T>,
  ): Promise<T | undefined> {
    const { clock, log, store } = this.#options;
    const timeout = Promise.withResolvers<never>();
    const stopTimer = clock.setTimer(
      () => timeout.reject(new Error(`no response after ${TIMEOUT_MS} ms`)),
      TIMEOUT_MS,
    );
    try {
      return await Promise.race([action(), timeout.promise]);
    } catch (error) {
      log.warn(`Cannot ${verb} the key cache`, {
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
