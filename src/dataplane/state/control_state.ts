import type { StoredResponses } from "../../llm/responses/stored_responses.ts";
import { EgressPolicy } from "../../base/wire/egress_policy.ts";
import type { ReservedAddress } from "../../base/wire/egress_rules.ts";
import { IdentityStore } from "../../identity/identity_store.ts";
import type { LoginState } from "../../identity/oauth/grants/login_state.ts";
import { LocalRegistrationTurns } from "../../policy/login/endpoints/registration_turns.ts";
import { HealthRecords } from "../../proxy/balancing/health/health_records.ts";
import { GlobalLimiters } from "../../ratelimit/global_limiters.ts";
import type {
  LimitCounts,
  LimitSelection,
} from "../../ratelimit/local/counter_store.ts";
import { LimitRegistry } from "../../ratelimit/shared/limit_registry.ts";
import type { MetricRegistry } from "../../telemetry/metrics/metrics.ts";
import { addKeyringMetrics } from "../../telemetry/metrics/keyring_metrics.ts";
import { addLimitMetrics } from "../../telemetry/metrics/limit_metrics.ts";
import { addKeySetMetrics } from "../../telemetry/metrics/state_metrics.ts";
import {
  createDocumentCache,
  createKeyring,
  createLoginState,
  createPinBook,
  createStoredResponses,
  type KvStoreOptions,
} from "./stores/kv_stores.ts";
import type { PinBook } from "./stores/pin_book.ts";
import type { Keyring } from "../keyring/keyring.ts";
import {
  type BudgetDescription,
  describeBudget,
  describeGlobalBudget,
  type DocumentDescription,
  type PolicyStateDescription,
} from "./state_descriptions.ts";
import type { CallHandlers } from "./channel.ts";
import { serveDocuments } from "./shared_documents.ts";
import type { StateCalls } from "./state_calls.ts";
import { WorkerLimiters } from "./worker_limiters.ts";

/** A worker that uses the state. */
export interface StateConnection {
  /** Number of the thread, never used again. */
  readonly thread: number;
  readonly handlers: CallHandlers<StateCalls>;
  /** Frees what the worker used; called when it has ended. */
  end(): void;
}

/** State of policies that the control thread keeps for all workers, so that they behave as one gateway. */
export class ControlState {
  readonly #egress: EgressPolicy;
  readonly #limits: LimitRegistry;
  readonly #limiters: GlobalLimiters;
  readonly #logins: LoginState;
  readonly #identity: IdentityStore;
  readonly #registrations: LocalRegistrationTurns;
  readonly #health: HealthRecords;
  /** Keys in the store; `undefined` without `config.kv`. */
  readonly keyring: Keyring | undefined;
  /** Approved tools of MCP servers. */
  readonly pins: PinBook;
  readonly #responses: StoredResponses;

  /**
   * @param options Its `count` is the number of workers.
   * @param onPins Called when another process has approved tools of MCP servers.
   */
  constructor(
    options: KvStoreOptions & { readonly count: number },
    onPins: () => void,
  ) {
    const { clock, logger, count, settings } = options;
    const egress = new EgressPolicy({
      settings: settings.egress,
      log: logger.module("proxy"),
      clock,
    });
    this.#egress = egress;
    // Those that end are replaced before their share of the limits is freed.
    this.#limits = new LimitRegistry(clock, { maxThreads: 2 * count + 8 });
    this.#limiters = new GlobalLimiters({
      clock,
      log: logger.module("ratelimit"),
      egress,
    });
    this.#logins = createLoginState(options);
    this.#identity = new IdentityStore({
      clock,
      log: logger.module("identity"),
      egress,
      cache: createDocumentCache(options),
    });
    this.#registrations = new LocalRegistrationTurns(clock);
    this.#health = new HealthRecords(clock, Math.random);
    this.keyring = createKeyring(options);
    this.#responses = createStoredResponses(options);
    this.pins = createPinBook(options, onPins);
  }

  /** See `EgressPolicy.reserve`. */
  reserve(addresses: readonly ReservedAddress[] | undefined): void {
    this.#egress.reserve(addresses);
  }

  /** Makes budgets unused; returns how many. Rejects when a store fails. */
  async resetLimits(selection: LimitSelection): Promise<number> {
    const shared = await this.#limiters.reset(selection);
    return this.#limits.reset(selection) + shared;
  }

  /** Connects a worker. */
  connect(): StateConnection {
    const thread = this.#limits.addThread();
    const limiters = new WorkerLimiters(this.#limiters);
    /** Providers of the registrations under way. */
    const registrations: string[] = [];
    const { grants } = this.#logins;
    const documents = serveDocuments(this.#identity);
    return {
      thread,
      handlers: {
        keyringMemory: () => {
          if (this.keyring === undefined) throw new Error("no config.kv");
          return this.keyring.memory();
        },
        readPins: (place) => this.pins.read(place),
        keepResponse: (name, record) => this.#responses.keep(name, record),
        findResponse: (name) => this.#responses.find(name),
        pinTools: (...args) => this.pins.pin(...args),
        notifyOfBudget: (notice) => this.keyring?.notify(notice),
        acquireLimits: (requests) => this.#limits.acquire(thread, requests),
        releaseLimit: (request) => this.#limits.release(thread, request),
        ...limiters.handlers,
        loginSecret: () => this.#logins.secret(),
        warnOfLoginLoss: () => this.#logins.warnOfLoss(),
        spendCode: (code, untilMs) => grants.spend(code, untilMs),
        spendProof: (...proof) => this.#logins.proofs.spend(...proof),
        readLoginRecord: (key) => this.#logins.records.read(key),
        replaceLoginRecord: (...change) =>
          this.#logins.records.replace(...change),
        releaseCode: (code) => grants.release(code),
        addGrant: (grant, untilMs) => grants.add(grant, untilMs),
        touchGrant: (...use) => grants.touch(...use),
        listGrants: () => grants.list(),
        endGrant: (grant, untilMs) => grants.end(grant, untilMs),
        isGrantEnded: (grant) => grants.isEnded(grant),
        useToken: (...use) => grants.useToken(...use),
        releaseToken: (...use) => grants.releaseToken(...use),
        beginRegistration: (provider) => {
          const hasBegun = this.#registrations.begin(provider);
          if (hasBegun) registrations.push(provider);
          return hasBegun;
        },
        endRegistration: (provider) => {
          registrations.splice(registrations.indexOf(provider), 1);
          this.#registrations.end(provider);
        },
        takeCheck: (id, rules) => this.#health.take(id, rules),
        reportCheck: (id, rules, failure) =>
          this.#health.report(id, rules, failure),
        ...documents.handlers,
      },
      end: () => {
        documents.end();
        this.#limits.removeThread(thread);
        limiters.end();
        for (const provider of registrations) this.#registrations.end(provider);
      },
    };
  }

  /** Completes the description of documents by a worker, which only gets them. */
  completeDocuments<Description extends DocumentDescriptions>(
    description: Description,
  ): Description {
    const { keySets, providerMetadata } = description;
    return {
      ...description,
      keySets: complete(keySets, this.#identity.fetched()),
      providerMetadata: complete(
        providerMetadata,
        this.#identity.describeMetadata(),
      ),
    };
  }

  /** Describes local limits, then those over Deno KV. */
  describeBudgets(): readonly BudgetDescription[] {
    return [
      ...this.#limits.describe().map(describeBudget),
      ...this.describeLeases(),
    ];
  }

  /** Describes limits over Deno KV. */
  describeLeases(): readonly BudgetDescription[] {
    return this.#limiters.describe().map(describeGlobalBudget);
  }

  /** Counts the keys of local limits. */
  limits(): Iterable<LimitCounts> {
    return this.#limits.counts();
  }

  /** Fetches the keys and metadata of identity providers now; never rejects. */
  refetchKeys(): Promise<void> {
    return this.#identity.refetch();
  }

  /** Adds the metrics of key sets and limits. */
  addMetrics(registry: MetricRegistry): void {
    addKeySetMetrics(registry, () => this.#identity.fetched());
    if (this.keyring !== undefined) addKeyringMetrics(registry, this.keyring);
    addLimitMetrics(registry, {
      localLimits: () => this.#limits.counts(),
      globalLimiters: () => this.#limiters.count(),
    });
  }

  /** Settles charges and closes all stores; takes at most two seconds. */
  async close(): Promise<void> {
    this.#limits.close();
    await Promise.all([
      this.#limiters.close(),
      this.#logins.close(),
      this.#identity.close(),
      this.keyring?.close(),
      this.pins.close(),
      this.#responses.close(),
    ]);
  }
}

type DocumentDescriptions = Pick<
  PolicyStateDescription,
  "keySets" | "providerMetadata"
>;

/** Replaces descriptions by those of the same source that the control thread has. */
function complete(
  descriptions: readonly DocumentDescription[],
  own: readonly { readonly source: string }[],
): readonly DocumentDescription[] {
  const bySource = Map.groupBy(own, ({ source }) => source);
  return descriptions.map((each) => ({
    ...each,
    ...bySource.get(each.source)?.shift(),
  }));
}
