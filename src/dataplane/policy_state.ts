import type { Settings } from "../api/settings.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { IdentityStore } from "../identity/identity_store.ts";
import {
  type KeyCache,
  KvKeyCache,
  noKeyCache,
} from "../identity/key_cache.ts";
import type { PolicyServices } from "../policy/policy_services.ts";
import { trustedProxies } from "../proxy/trusted_proxies.ts";
import type { LimitReading } from "../ratelimit/counter_store.ts";
import { LocalCounterStore } from "../ratelimit/local_counter_store.ts";

/** What the state of policies needs of its process. */
export interface PolicyStateOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What the policies of a configuration use, until it gives it back. */
export interface PolicyStateLease {
  readonly services: PolicyServices;
  release(): void;
}

/** What policies know that outlives their configuration: keys of identity providers, budgets. */
export class PolicyState {
  readonly #options: PolicyStateOptions;
  readonly #identity: IdentityStore;
  readonly #counters: LocalCounterStore;

  constructor(options: PolicyStateOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#identity = new IdentityStore({
      clock,
      log: logger.module("identity"),
      cache: createKeyCache(options),
    });
    this.#counters = new LocalCounterStore(clock);
  }

  lease(): PolicyStateLease {
    const { clock, settings, logger } = this.#options;
    const identity = this.#identity.lease();
    const counters = this.#counters.lease();
    return {
      services: {
        clock,
        log: logger.module("policy"),
        maxBufferBytes: settings.limits.maxBufferBytes,
        trustsPeer: trustedProxies(settings.trustedProxies),
        identity,
        counters,
        globalLimiter: () => undefined,
      },
      release() {
        identity.release();
        counters.release();
      },
    };
  }

  /** Fetches ahead what the first request would have to wait for. */
  warmUp(): void {
    this.#identity.warmUp();
  }

  keySets(): ReturnType<IdentityStore["describe"]> {
    return this.#identity.describe();
  }

  limits(): readonly LimitReading[] {
    return this.#counters.describe();
  }

  async close(): Promise<void> {
    await this.#identity.close();
  }
}

/** A limit as `/config_dump` shows it. */
export function describeBudget(
  { name, resetMs, windowMs, ...reading }: LimitReading,
) {
  return {
    ...reading,
    entry: name,
    resetSeconds: Math.ceil(resetMs / 1000),
    windowSeconds: windowMs / 1000,
  };
}

function createKeyCache(
  { settings: { kv }, clock, logger }: PolicyStateOptions,
): KeyCache {
  const store = kv?.url ?? kv?.path;
  if (store === undefined) return noKeyCache;
  return new KvKeyCache({ store, clock, log: logger.module("identity") });
}
