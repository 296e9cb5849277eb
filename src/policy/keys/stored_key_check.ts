import type { Clock } from "../../base/clock.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { PolicyContext, RequestVerdict } from "../contract/policy.ts";
import type { PolicyOptions } from "../contract/policy_kind.ts";
import { servicesIn } from "../contract/policy_services.ts";
import type { KeyCaller } from "./key_caller.ts";
import type { KeyRuleReason, KeyRules } from "./key_rules.ts";
import { type StoredKeys, storedKeyServices } from "./stored_keys.ts";

/** The caller of a key, or why there is none. */
export type CheckedKey =
  | { readonly caller: KeyCaller }
  | UnusableKey;

/** A key that cannot be used; `isUnavailable` if nobody knows whether it could. */
interface UnusableKey {
  readonly problem: string;
  readonly isUnavailable?: true;
}

/** A key that no one has. */
export const unknownKey: UnusableKey = { problem: "the API key is not known" };

const unavailableKey: UnusableKey = {
  problem: "the API key cannot be checked now",
  isUnavailable: true,
};

type Verdict = RequestVerdict<KeyRuleReason>;

/** Checks keys of the store, and enforces the rules of their callers. */
export class StoredKeyCheck {
  readonly #keys: StoredKeys | undefined;
  readonly #clock: Pick<Clock, "now">;
  /** Expressions take a fifth of the start and 10 MB: only configurations with stored keys load them. */
  readonly #loading: Promise<KeyRules>;
  #rules: KeyRules | undefined;

  constructor(options: PolicyOptions) {
    const { services } = options;
    this.#keys = servicesIn(services, storedKeyServices).follow();
    this.#clock = services.clock;
    this.#loading = import("./key_rules.ts").then(({ KeyRules }) =>
      this.#rules = new KeyRules(options)
    );
  }

  /** @param digest SHA-256 of the key in hexadecimal. */
  check(digest: string): CheckedKey {
    const caller = this.#keys?.find(digest);
    if (caller === undefined) return unknownKey;
    if (caller === "unavailable") return unavailableKey;
    const { problem, expiresAt } = caller;
    if (problem !== undefined) return { problem: `the API key ${problem}` };
    return expiresAt > this.#clock.now()
      ? { caller }
      : { problem: "the API key has expired" };
  }

  onRequest(
    context: PolicyContext,
    caller: KeyCaller,
  ): Verdict | Promise<Verdict> {
    if (caller.allows.length === 0 && caller.budgets.length === 0) return;
    return this.#rules === undefined
      ? this.#loading.then((rules) => rules.onRequest(context, caller))
      : this.#rules.onRequest(context, caller);
  }

  onResponse(
    context: PolicyContext,
    response: ResponseMessage,
  ): void | Promise<void> {
    return this.#rules?.onResponse(context, response);
  }
}
