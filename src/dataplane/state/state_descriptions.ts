import type { KeySetState } from "../../identity/keys/remote_keys.ts";
import type { GlobalLimitReading } from "../../ratelimit/limiter/global_limiter.ts";
import type { LimitReading } from "../../ratelimit/local/counter_store.ts";

/** State that policies keep and fetch. */
export interface PolicyStateDescription {
  /** State of the keys of identity providers: issuers, source, key IDs, age, next refresh, last error. */
  readonly keySets: readonly DocumentDescription[];
  /** State of the metadata of authorization servers. */
  readonly providerMetadata: readonly DocumentDescription[];
  /** Local limits, then shared ones, then budgets of keys, users and teams in the store of which something is used; each with what is left. */
  readonly budgets: readonly BudgetDescription[];
}

/** Keys or metadata of an identity provider; inline ones have no history, and metadata has no keys. */
export interface DocumentDescription extends Partial<KeySetState> {
  /** URL, file or `inline`. */
  readonly source: string;
  /** Issuers whose tokens are verified. */
  readonly issuers?: readonly string[];
  /** Policies that use it, as `namespace/name`. */
  readonly policies?: readonly string[];
}

/** A limit; fields beyond these depend on its kind. */
export interface BudgetDescription {
  /** Place of its configuration, such as `HTTPRoute/default/chat`. */
  readonly scope: string;
  /** Its definition in words. */
  readonly entry: string;
  /** Whose it is, such as `team blue`; set for budgets of keys, users and teams in the store. */
  readonly owner?: string;
  /** Used in the current window; set for budgets with an owner. */
  readonly used?: number;
  readonly limit: number;
  /** Such as `requests` or `tokens`. */
  readonly unit: string;
  /** Smallest remaining budget; `undefined` when only a service knows it. */
  readonly remaining?: number;
  /** Length of the window; `undefined` for limits without windows. */
  readonly windowSeconds?: number;
  /** Time to the end of the window; `undefined` when only a service knows it. */
  readonly resetSeconds?: number;
  readonly [more: string]: unknown;
}

/** Describes a local limit for `/config_dump`. */
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

/** Describes a shared limit for `/config_dump`; numbers that only a service knows are omitted. */
export function describeGlobalBudget(
  { store, domain, name, resetMs, windowMs, ...reading }: GlobalLimitReading,
) {
  return {
    scope: `${store}/${domain}`,
    entry: name,
    ...reading,
    ...(resetMs !== undefined && { resetSeconds: Math.ceil(resetMs / 1000) }),
    windowSeconds: windowMs / 1000,
  };
}
