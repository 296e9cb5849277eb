import type { Clock } from "../base/clock.ts";
import { type GrantStore, MemoryGrantStore } from "./grant_store.ts";
import { randomText } from "./seal.ts";

/** State of logins that outlives a configuration: the secret that seals them, and the used codes. */
export interface LoginState {
  readonly grants: GrantStore;
  /** Returns the secret for configurations without one. Rejects while its store is not available. */
  secret(): Promise<string>;
  close(): Promise<void>;
}

/** Keeps the state in this process: logins end with it. */
export function createMemoryLoginState(clock: Clock): LoginState {
  const secret = randomText();
  return {
    grants: new MemoryGrantStore(clock),
    secret: () => Promise.resolve(secret),
    close: () => Promise.resolve(),
  };
}

const secretKey = ["oauth", "secret"];
const TIMEOUT_MS = 2000;
const RETRY_MS = 20;

/** Keeps the state in Deno KV: logins survive restarts, and all processes with the same store share them. */
export class KvLoginState implements LoginState {
  readonly grants: GrantStore;
  readonly #clock: Clock;
  readonly #store: string;
  #kv: Promise<Deno.Kv> | undefined;
  #secret: string | undefined;

  /** @param store File, or URL of a remote store; opened by the first login that needs it. */
  constructor(store: string, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.grants = {
      spend: (code, untilMs) =>
        this.#use(async (kv) => {
          const key = ["oauth", "code", code];
          const { ok } = await kv.atomic()
            .check({ key, versionstamp: null })
            .set(key, true, { expireIn: this.#lifetime(untilMs) })
            .commit();
          return ok;
        }),
      release: (code) => this.#use((kv) => kv.delete(["oauth", "code", code])),
      end: (grant, untilMs) =>
        this.#use(async (kv) => {
          const expireIn = this.#lifetime(untilMs);
          await kv.set(["oauth", "ended", grant], true, { expireIn });
        }),
      isEnded: (grant) =>
        this.#use(async (kv) => {
          const { value } = await kv.get(["oauth", "ended", grant]);
          return value !== null;
        }),
    };
  }

  async secret(): Promise<string> {
    return this.#secret ??= await this.#use(async (kv) => {
      await kv.atomic().check({ key: secretKey, versionstamp: null })
        .set(secretKey, randomText()).commit();
      const { value } = await kv.get(secretKey);
      if (typeof value === "string" && value.length >= 32) return value;
      throw new TypeError("Cannot use the login secret of the store");
    });
  }

  async close(): Promise<void> {
    const kv = await this.#kv?.catch(() => undefined);
    this.#kv = undefined;
    kv?.close();
  }

  #lifetime(untilMs: number): number {
    return Math.max(1, untilMs - this.#clock.now());
  }

  /** Retries while another process has the store locked, as SQLite does for a moment when both open it. */
  async #use<T>(action: (kv: Deno.Kv) => Promise<T>): Promise<T> {
    const deadline = this.#clock.monotonic() + TIMEOUT_MS;
    while (true) {
      try {
        return await this.#withDeadline(action);
      } catch (error) {
        const isLocked = error instanceof Error &&
          error.message.includes("database is locked");
        if (!isLocked || this.#clock.monotonic() >= deadline) throw error;
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#clock.setTimer(resolve, RETRY_MS);
        await promise;
      }
    }
  }

  async #withDeadline<T>(action: (kv: Deno.Kv) => Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    const stopTimer = this.#clock.setTimer(
      () => late.reject(new Error(`no response after ${TIMEOUT_MS} ms`)),
      TIMEOUT_MS,
    );
    try {
      return await Promise.race([this.#open().then(action), late.promise]);
    } finally {
      stopTimer();
    }
  }

  #open(): Promise<Deno.Kv> {
    const kv = this.#kv ??= Deno.openKv(this.#store);
    // If this attempt fails, the next login opens the store again.
    kv.catch(() => this.#kv = undefined);
    return kv;
  }
}
