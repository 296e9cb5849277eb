/** State that policies keep and fetch. */
export interface PolicyStateDescription {
  /** State of the keys of identity providers: issuers, source, key IDs, age, next refresh, last error. */
  readonly keySets: readonly DocumentDescription[];
  /** State of the metadata of authorization servers. */
  readonly providerMetadata: readonly DocumentDescription[];
  /** Local limits, then shared ones, each with what is left. */
  readonly budgets: readonly BudgetDescription[];
}

/** Keys or metadata of an identity provider; see `DocumentState` for the other fields. */
export interface DocumentDescription {
  /** URL, file or `inline`. */
  readonly source: string;
  readonly [more: string]: unknown;
}

/** A limit; fields beyond these depend on its kind. */
export interface BudgetDescription {
  /** Place of its configuration, such as `HTTPRoute/default/chat`. */
  readonly scope: string;
  /** Its definition in words. */
  readonly entry: string;
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
