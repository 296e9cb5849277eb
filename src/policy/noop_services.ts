import { systemClock } from "../base/clock.ts";
import type { Log } from "../base/log/log.ts";
import { createSensitiveHeaders } from "../base/redaction.ts";
import { openEgress } from "../base/wire/egress_policy.ts";
import { noDocumentCache } from "../identity/documents/document_cache.ts";
import { IdentityStore } from "../identity/identity_store.ts";
import { createMemoryLoginState } from "../identity/oauth/grants/login_state.ts";
import { LocalCounterStore } from "../ratelimit/local/local_counter_store.ts";
import type {
  PolicyLease,
  PolicyServices,
} from "./contract/policy_services.ts";
import { Slots } from "./contract/slot.ts";
import { Authorizers, authorizerServices } from "./ext_authz/authorizers.ts";
import { noStoredKeys, storedKeyServices } from "./keys/stored_keys.ts";
import { type LoginServices, loginServices } from "./login/login_services.ts";
import { LocalRegistrationTurns } from "./login/endpoints/registration_turns.ts";
import {
  type RateLimitServices,
  rateLimitServices,
} from "./rate_limit/rate_limit_services.ts";

/**
 * Creates services for policies that never run, such as those of `--validate-only`.
 * @param own Replaces some of those that kinds of policies have declared.
 */
export function noopServices(
  own: Partial<LoginServices & RateLimitServices> = {},
): PolicyServices {
  const clock = systemClock;
  const ofKinds = new Slots();
  ofKinds.set(loginServices, {
    identity: new IdentityStore({
      clock,
      log: silence,
      egress: openEgress,
      cache: noDocumentCache,
    }).lease(),
    logins: createMemoryLoginState(clock, silence),
    registrations: new LocalRegistrationTurns(clock),
    ...own,
  });
  ofKinds.set(rateLimitServices, {
    counters: new LocalCounterStore(clock).lease(),
    prices: noPrices,
    globalLimiter: () => undefined,
    ...own,
  });
  ofKinds.set(storedKeyServices, noStoredKeys);
  ofKinds.set(authorizerServices, new Authorizers(clock, openEgress).lease());
  return {
    clock,
    log: silence,
    egress: openEgress,
    maxBufferBytes: 0,
    maxLlmBodyBytes: 0,
    sensitiveHeaders: createSensitiveHeaders([]),
    trustsPeer: () => false,
    ofKinds,
  };
}

/** Creates a function that leases such services. */
export function noopLeases(): () => PolicyLease {
  const services = noopServices();
  return () => ({ services, ready: () => Promise.resolve(), release() {} });
}

/** Prices of a gateway that knows none. */
export const noPrices: RateLimitServices["prices"] = {
  isLoaded: true,
  load: () => Promise.resolve(),
  price: () => ({ nanoUsd: 0, isPriced: false }),
  warnUnknown() {},
};

const silence: Log = {
  error() {},
  warn() {},
  info() {},
  debug() {},
  trace() {},
  isEnabled: () => false,
};
