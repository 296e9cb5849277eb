import type { StoredResponses } from "../../llm/responses/stored_responses.ts";
import {
  describeBudget,
  describeGlobalBudget,
  type PolicyStateDescription,
} from "./state_descriptions.ts";
import type { Settings } from "../../api/settings.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log, Logger } from "../../base/log/log.ts";
import {
  createSensitiveHeaders,
  type SensitiveHeaders,
} from "../../base/redaction.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import { IdentityStore } from "../../identity/identity_store.ts";
import {
  noDocumentCache,
  type SharedDocuments,
} from "../../identity/documents/document_cache.ts";
import type { PriceBook } from "../../llm/cost/price_book.ts";
import type { ToolPins } from "../../mcp/approval/tool_pins.ts";
import type { LoginState } from "../../identity/oauth/grants/login_state.ts";
import {
  LocalRegistrationTurns,
  type RegistrationTurns,
} from "../../policy/login/endpoints/registration_turns.ts";
import { Slots } from "../../policy/contract/slot.ts";
import type { BudgetNotice } from "../../policy/keys/notice_board.ts";
import {
  Authorizers,
  authorizerServices,
} from "../../policy/ext_authz/authorizers.ts";
import { storedKeyServices } from "../../policy/keys/stored_keys.ts";
import { loginServices } from "../../policy/login/login_services.ts";
import { rateLimitServices } from "../../policy/rate_limit/rate_limit_services.ts";
import type {
  PolicyLease,
  PolicyServices,
} from "../../policy/contract/policy_services.ts";
import type { HealthTurns } from "../../proxy/balancing/health/health_records.ts";
import { trustedProxies } from "../../proxy/request/forwarding_headers.ts";
import type {
  CounterStore,
  LimitCounts,
  LimitSelection,
} from "../../ratelimit/local/counter_store.ts";
import { LocalCounterStore } from "../../ratelimit/local/local_counter_store.ts";
import type { GlobalLimitReading } from "../../ratelimit/limiter/global_limiter.ts";
import type { LimiterCounts } from "../../ratelimit/limiter/counted_limiter.ts";
import { GlobalLimiters } from "../../ratelimit/global_limiters.ts";
import type { Keyring } from "../keyring/keyring.ts";
import { KeyringReader } from "../keyring/keyring_reader.ts";
import { createDocumentCache, createLoginState } from "./stores/kv_stores.ts";
import { globalLimits, limiterPlace } from "./limiter_place.ts";

/** Dependencies of the policy state. */
export interface PolicyStateOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly prices: PriceBook;
  /** Decides which servers policies may connect to. */
  readonly egress: EgressPolicy;
  /** State of several data planes; by default, this one has its own. */
  readonly shared?: SharedPolicyState | undefined;
  /** Keys in the store, unless several data planes share them; `undefined` without `config.kv`. */
  readonly keyring: Keyring | undefined;
}

/** State that the data planes of several threads share. */
export interface SharedPolicyState {
  readonly counters: CounterStore;
  readonly logins: LoginState;
  readonly documents: SharedDocuments;
  readonly registrations: RegistrationTurns;
  /** Limiters over Deno KV. */
  readonly kvLimiters: Pick<GlobalLimiters, "lease" | "open">;
  readonly healthTurns: HealthTurns;
  /** Keys in the store; `undefined` without `config.kv`. */
  readonly keys: KeyringReader | undefined;
  readonly notify: (notice: BudgetNotice) => void;
  /** Approved tools of MCP servers. */
  readonly pins: ToolPins;
  /** Responses to which clients of LLMs refer. */
  readonly responses: StoredResponses;
}

/** State of policies that outlives their configuration: keys of identity providers, logins, budgets. */
export class PolicyState {
  readonly #options: PolicyStateOptions;
  readonly #log: Log;
  readonly #trustsPeer: PolicyServices["trustsPeer"];
  readonly #sensitiveHeaders: SensitiveHeaders;
  readonly #identity: IdentityStore;
  readonly #logins: LoginState;
  readonly #registrations: RegistrationTurns;
  readonly #counters: CounterStore;
  readonly #limiters: GlobalLimiters;
  readonly #authorizers: Authorizers;
  readonly #keys: KeyringReader | undefined;
  readonly #notify: (notice: BudgetNotice) => void;

  constructor(options: PolicyStateOptions) {
    const { clock, logger, shared, egress } = options;
    this.#options = options;
    this.#log = logger.module("policy");
    this.#trustsPeer = trustedProxies(options.settings.trustedProxies);
    this.#sensitiveHeaders = createSensitiveHeaders(
      options.settings.sensitiveHeaders,
    );
    this.#identity = new IdentityStore({
      clock,
      log: logger.module("identity"),
      egress,
      cache: shared === undefined
        ? createDocumentCache(options)
        : noDocumentCache,
      shared: shared?.documents,
    });
    this.#logins = shared?.logins ?? createLoginState(options);
    this.#registrations = shared?.registrations ??
      new LocalRegistrationTurns(clock);
    this.#counters = shared?.counters ?? new LocalCounterStore(clock);
    this.#limiters = new GlobalLimiters({
      clock,
      log: logger.module("ratelimit"),
      egress,
    });
    this.#authorizers = new Authorizers(clock, egress);
    const { keyring } = options;
    this.#keys = shared?.keys ??
      (keyring && new KeyringReader(() => keyring.memory()));
    this.#notify = shared?.notify ?? ((notice) => keyring?.notify(notice));
  }

  /** Returns services for a policy. What it uses of the state stays until it releases them. */
  lease(): PolicyLease {
    const { clock, settings, shared, egress } = this.#options;
    const identity = new Lazy(() => this.#identity.lease());
    const counters = new Lazy(() => this.#counters.lease());
    const limiters = new Lazy(() => this.#limiters.lease());
    const kvLimiters = shared === undefined
      ? limiters
      : new Lazy(() => shared.kvLimiters.lease());
    const authorizers = new Lazy(() => this.#authorizers.lease());
    const keys = new Lazy(() => this.#keys);
    const used = new Set([
      ...[identity, counters, limiters, kvLimiters, authorizers],
    ]);
    const ofKinds = new Slots();
    ofKinds.set(storedKeyServices, {
      follow: () => keys.use(),
      notify: this.#notify,
    });
    ofKinds.set(authorizerServices, {
      upstream: (place) => authorizers.use().upstream(place),
    });
    ofKinds.set(loginServices, {
      get identity() {
        return identity.use();
      },
      logins: this.#logins,
      registrations: this.#registrations,
    });
    ofKinds.set(rateLimitServices, {
      get counters() {
        return counters.use();
      },
      prices: this.#options.prices,
      globalLimiter(config, { connectionOf, hide }) {
        const place = limiterPlace(config, settings.kv, connectionOf);
        if (place === undefined) return undefined;
        const lease = "kv" in place ? kvLimiters : limiters;
        return lease.use().limiter(place, globalLimits(config, hide));
      },
    });
    return {
      services: {
        clock,
        log: this.#log,
        egress,
        maxBufferBytes: settings.limits.maxBufferBytes,
        maxLlmBodyBytes: settings.limits.maxLlmBodyBytes,
        sensitiveHeaders: this.#sensitiveHeaders,
        trustsPeer: this.#trustsPeer,
        ofKinds,
      },
      ready: async () => {
        await Promise.all([counters.used?.ready(), keys.used?.ready()]);
      },
      release() {
        for (const each of used) each.used?.release();
      },
    };
  }

  /** Fetches in advance what the first request would wait for. */
  warmUp(): void {
    this.#identity.warmUp();
    this.#limiters.open();
    this.#options.shared?.kvLimiters.open();
  }

  /** Fetches keys and metadata of identity providers now; never rejects. */
  refetchKeys(): Promise<void> {
    return this.#identity.refetch();
  }

  /** Describes the state without secrets. */
  describe(): PolicyStateDescription {
    return {
      keySets: this.#identity.describe(),
      providerMetadata: this.#identity.describeMetadata(),
      budgets: [
        ...this.#counters.describe().map(describeBudget),
        ...this.globalLimits().map(describeGlobalBudget),
      ],
    };
  }

  keySets(): ReturnType<IdentityStore["describe"]> {
    return this.#identity.describe();
  }

  /** Describes the key sets that this thread fetches. */
  fetchedKeySets(): ReturnType<IdentityStore["fetched"]> {
    return this.#identity.fetched();
  }

  providerMetadata(): ReturnType<IdentityStore["describeMetadata"]> {
    return this.#identity.describeMetadata();
  }

  cachedTokens(): ReturnType<IdentityStore["cachedTokens"]> {
    return this.#identity.cachedTokens();
  }

  /** Grants of MCP clients that log in at the gateway. */
  get grants(): LoginState["grants"] {
    return this.#logins.grants;
  }

  limits(): Iterable<LimitCounts> {
    return this.#counters.counts();
  }

  /** Makes budgets unused that no other thread has; returns how many. Rejects when a store fails. */
  async resetLimits(selection: LimitSelection): Promise<number> {
    if (this.#options.shared !== undefined) return 0;
    const shared = await this.#limiters.reset(selection);
    return this.#counters.reset(selection) + shared;
  }

  globalLimits(): readonly GlobalLimitReading[] {
    return this.#limiters.describe();
  }

  globalLimiters(): readonly LimiterCounts[] {
    return this.#limiters.count();
  }

  async close(): Promise<void> {
    this.#authorizers.close();
    await Promise.all([
      this.#identity.close(),
      this.#logins.close(),
      this.#limiters.close(),
    ]);
  }
}

/** A value that is created on first use. */
class Lazy<T> {
  readonly #create: () => T;
  used: T | undefined;

  constructor(create: () => T) {
    this.#create = create;
  }

  use(): T {
    return this.used ??= this.#create();
  }
}
